import type pg from 'pg';
import { createDataSource } from '../../src/raw-sql/data-source.js';
import type { Call } from './calls.js';
import type { TestDatabase } from './database.js';

interface RawNode {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  'Scan Direction'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  'Temp Written Blocks'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: RawNode[];
}

/** One node of a plan, as `Index Scan Backward using log_segments_pkey on log_segments`. */
export interface PlanNode {
  shape: string;
  /** Rows it gave, over all its loops. */
  rows: number;
  rowsRemoved: number;
}

/** One statement that ran, at whatever depth inside functions. */
export interface Plan {
  query: string;
  /** From the root down. */
  nodes: PlanNode[];
  /** Pages of shared memory it touched, what it called included. */
  buffers: number;
  /** Pages of temporary files it wrote. */
  tempWritten: number;
}

/**
 * A session with the settings of the broker's sessions, which tells the plan of every statement it runs, inside
 * functions as well (auto_explain).
 */
export class PlanningSession {
  private readonly plans: Plan[] = [];

  private constructor(readonly client: pg.Client) {
    client.on('notice', ({ message = '' }) => {
      const at = message.indexOf('plan:');
      if (message.startsWith('duration:') && at > 0)
        this.plans.push(planOf(message.slice(at + 'plan:'.length)));
    });
  }

  /** The role needs the right to load auto_explain: a superuser has it. */
  static async open(
    db: TestDatabase,
    mode: 'auto' | 'force_generic_plan' = 'auto',
  ): Promise<PlanningSession> {
    const client = await db.connect({ application_name: 'plans', options: brokerSettings(db.url) });
    await client.query(`load 'auto_explain'`);
    await client.query(
      `select set_config(name, value, false)
         from (values ('auto_explain.log_min_duration', '0'), ('auto_explain.log_nested_statements', 'on'),
                      ('auto_explain.log_analyze', 'on'), ('auto_explain.log_buffers', 'on'),
                      ('auto_explain.log_format', 'json'), ('client_min_messages', 'log'),
                      ('plan_cache_mode', '${mode}')) as setting(name, value)`,
    );
    return new PlanningSession(client);
  }

  /** Runs the statement and gives the plans of everything that ran, in the order in which it ended. */
  async plansOf([text, values]: Call): Promise<Plan[]> {
    this.plans.length = 0;
    await this.client.query(text, values);
    return [...this.plans];
  }

  /** The plan of the one nested statement whose text matches. */
  async planOf(call: Call, text: RegExp): Promise<Plan> {
    const plans = await this.plansOf(call);
    const matching = plans.filter(({ query }) => text.test(query));
    if (matching.length === 1) return matching[0];
    const seen = plans.map(({ query }) => query.replaceAll(/\s+/g, ' ').slice(0, 120)).join('\n  ');
    throw new Error(`${matching.length} statements match ${text}; these ran:\n  ${seen}`);
  }
}

/** The shapes of a plan's nodes that read a table. */
export function scansOf(plan: Plan): string[] {
  return plan.nodes.map(({ shape }) => shape).filter((shape) => shape.includes(' on '));
}

/** What the broker's pool passes to each new session. */
function brokerSettings(url: string): string {
  const pool = createDataSource(
    {
      ...{
        url,
        host: '',
        port: 0,
        user: '',
        password: '',
        database: '',
        ssl: false,
        sslRejectUnauthorized: false,
      },
      ...{
        poolSize: 1,
        poolWaitMs: 1000,
        poolWaitersMax: 1,
        statementTimeoutMs: 30_000,
        namedStatements: true,
        directUrl: null,
        pooled: false,
      },
    },
    () => undefined,
  );
  const { options } = (pool.options as { extra: { options: string } }).extra;
  return options;
}

function planOf(json: string): Plan {
  const { 'Query Text': query, Plan: root } = JSON.parse(json) as { 'Query Text': string; Plan: RawNode };
  const nodes: PlanNode[] = [];
  const visit = (node: RawNode) => {
    const backward = node['Scan Direction'] === 'Backward' ? ' Backward' : '';
    const using = node['Index Name'] ? ` using ${node['Index Name']}` : '';
    const on = node['Relation Name'] ? ` on ${node['Relation Name']}` : '';
    nodes.push({
      shape: `${node['Node Type']}${backward}${using}${on}`,
      rows: Math.round((node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0)),
      rowsRemoved: Math.round((node['Rows Removed by Filter'] ?? 0) * (node['Actual Loops'] ?? 0)),
    });
    node.Plans?.forEach(visit);
  };
  visit(root);
  return {
    query,
    nodes,
    buffers: (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0),
    tempWritten: root['Temp Written Blocks'] ?? 0,
  };
}
