import { DATABASE } from '../errors.js';
import type { Area, Body, ErrorUse } from '../operation.js';
import { always, boolean, count, integer, nullable, number, object, text } from '../schema.js';

const onOff: Body = {
  required: true,
  schema: object({ enabled: boolean() }),
  example: { enabled: false },
};

const errors: ErrorUse[] = [...DATABASE, 'bad_body', 'json_too_deep'];

const popState = object({ popMaintenanceMode: boolean(), message: text() });

export const maintenanceArea: Area = {
  name: 'Maintenance',
  about: 'Switches that hold for all brokers, across restarts.',
  operations: {
    'GET /api/v1/system/maintenance': {
      id: 'getMaintenance',
      summary: 'Both switches, and what waits on disk',
      about: 'Answers during an outage as well, with what was last known.',
      answers: {
        200: {
          about: 'As they stand.',
          schema: object({
            maintenanceMode: boolean('Pushes go to disk.'),
            popMaintenanceMode: boolean('Pops answer 204.'),
            bufferedMessages: count(),
            bufferHealthy: boolean(),
            bufferStats: object({
              pendingCount: count(),
              failedCount: count(),
              dbHealthy: boolean(),
              diskHealthy: boolean(),
              pendingFiles: count(),
              pendingBytes: integer(),
              oldestAgeSeconds: nullable(integer()),
              failedFiles: object({
                count: count(),
                totalBytes: count(),
                totalMB: number(),
                failoverCount: count(),
                qos0Count: always(0),
              }),
            }),
          }),
          example: {
            maintenanceMode: false,
            popMaintenanceMode: false,
            bufferedMessages: 0,
            bufferHealthy: true,
            bufferStats: {
              pendingCount: 0,
              failedCount: 0,
              dbHealthy: true,
              diskHealthy: true,
              pendingFiles: 0,
              pendingBytes: 0,
              oldestAgeSeconds: null,
              failedFiles: { count: 0, totalBytes: 0, totalMB: 0, failoverCount: 0, qos0Count: 0 },
            },
          },
        },
      },
    },
    'POST /api/v1/system/maintenance': {
      id: 'setMaintenance',
      summary: 'Send pushes to disk, or to PostgreSQL again',
      body: onOff,
      answers: {
        200: {
          about: 'As it now stands.',
          schema: object({
            maintenanceMode: boolean(),
            bufferedMessages: count(),
            bufferHealthy: boolean(),
            message: text(),
          }),
          example: {
            maintenanceMode: false,
            bufferedMessages: 0,
            bufferHealthy: true,
            message: 'Maintenance mode DISABLED. Background processor will drain buffer to DB.',
          },
        },
      },
      errors,
    },
    'GET /api/v1/system/maintenance/pop': {
      id: 'getPopMaintenance',
      summary: 'Whether pops are switched off',
      answers: {
        200: {
          about: 'As it stands.',
          schema: popState,
          example: {
            popMaintenanceMode: false,
            message: 'Pop maintenance mode is OFF. Normal operation.',
          },
        },
      },
    },
    'POST /api/v1/system/maintenance/pop': {
      id: 'setPopMaintenance',
      summary: 'Switch pops off or on',
      about: 'Off: parked pops leave at once with 204.',
      body: onOff,
      answers: {
        200: {
          about: 'As it now stands.',
          schema: popState,
          example: {
            popMaintenanceMode: false,
            message: 'Pop maintenance mode DISABLED. Normal operation resumed.',
          },
        },
      },
      errors,
    },
    'GET /api/v1/system/shared-state': {
      id: 'getSharedState',
      summary: 'For clients that look for it',
      answers: {
        200: {
          about: 'Brokers share their state in PostgreSQL only.',
          schema: object({
            enabled: always(false),
            reason: text(),
            maintenance_mode: boolean(),
            pop_maintenance_mode: boolean(),
          }),
          example: {
            enabled: false,
            reason: 'single_node_segments_broker',
            maintenance_mode: false,
            pop_maintenance_mode: false,
          },
        },
      },
    },
  },
};
