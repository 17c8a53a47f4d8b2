import { BinaryClient } from '../../../dist/raw-sql/binary-client.js';

/**
 * A few connections, each of which takes what has gathered as soon as its last statement was answered: the flight in
 * progress is the clock. Statements are named, with rows as arrays of decoded fields.
 */
export class Flights {
  /** @param fly takes what waits and runs one statement with it, or returns null when nothing waits */
  static async open(databaseUrl, count, fly) {
    const clients = Array.from(
      { length: count },
      () => new BinaryClient({ connectionString: databaseUrl, application_name: 'floor' }),
    );
    await Promise.all(clients.map((client) => client.connect()));
    return new Flights(clients, fly);
  }

  constructor(clients, fly) {
    this.clients = clients;
    this.idle = [...clients];
    this.fly = fly;
  }

  /** To be called whenever something has come that could leave. */
  kick() {
    while (this.idle.length > 0) {
      const client = this.idle.pop();
      const flight = this.fly((name, text, values) => this.rows(client, name, text, values));
      if (!flight) {
        this.idle.push(client);
        return;
      }
      void flight.finally(() => {
        this.idle.push(client);
        this.kick();
      });
    }
  }

  async close() {
    await Promise.all(this.clients.map((client) => client.end()));
  }

  async rows(client, name, text, values) {
    const { rows } = await client.query({ name, text, values, rowMode: 'array', binary: true });
    return rows;
  }
}
