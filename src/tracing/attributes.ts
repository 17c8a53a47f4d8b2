/** Names of the OpenTelemetry conventions for messaging and databases; those for messaging are not stable there yet. */
export const ATTRIBUTE = {
  system: 'messaging.system',
  operation: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  partition: 'messaging.destination.partition.id',
  group: 'messaging.consumer.group.name',
  messages: 'messaging.batch.message_count',
  errorType: 'error.type',
  dbSystem: 'db.system.name',
  dbProcedure: 'db.stored_procedure.name',
  dbRows: 'db.response.returned_rows',
} as const;

export const SYSTEM = 'queen';
export const DATABASE = 'postgresql';
