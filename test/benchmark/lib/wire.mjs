import net from 'node:net';

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '\r\n0\r\n\r\n';

/**
 * One keep-alive HTTP/1.1 connection with one request at a time, as lean as a client can be: the generator shares the
 * machine with what it measures, and a general client costs as much CPU a request as the broker. Bodies are read and
 * written as Latin-1, which is enough for what the generator sends.
 */
export class Wire {
  /** @param {string} base such as http://127.0.0.1:6632 */
  constructor(base) {
    const { hostname, port } = new URL(base);
    this.host = `Host: ${hostname}:${port}\r\n`;
    this.address = { host: hostname, port: Number(port), noDelay: true };
    this.socket = null;
    this.waiting = null;
    this.text = '';
  }

  /** @returns {Promise<{ status: number, text: string }>} rejects when the connection breaks before the answer is whole */
  send(method, path, body) {
    const length =
      body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.connected().write(
        `${method} ${path} HTTP/1.1\r\n${this.host}${length}\r\n${body ?? ''}`,
        'latin1',
      );
    });
  }

  close() {
    this.socket?.destroy();
    this.socket = null;
  }

  connected() {
    if (this.socket) return this.socket;
    const socket = net.connect(this.address);
    socket.setEncoding('latin1');
    socket.on('data', (text) => this.read(text));
    socket.on('error', (error) => this.broken(socket, error));
    socket.on('close', () => this.broken(socket, new Error('the connection was closed')));
    return (this.socket = socket);
  }

  broken(socket, error) {
    if (this.socket !== socket) return;
    this.socket = null;
    this.text = '';
    this.settle('reject', error);
  }

  settle(how, value) {
    const { waiting } = this;
    this.waiting = null;
    waiting?.[how](value);
  }

  read(text) {
    this.text = this.text === '' ? text : this.text + text;
    const headEnd = this.text.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = this.text.slice(0, headEnd + 2).toLowerCase();
    const bodyAt = headEnd + HEAD_END.length;
    const length = /\r\ncontent-length: *(\d+)/.exec(head);
    let body = '';
    if (length) {
      if (this.text.length < bodyAt + Number(length[1])) return;
      body = this.text.slice(bodyAt, bodyAt + Number(length[1]));
    } else if (head.includes('\r\ntransfer-encoding: chunked')) {
      if (!this.text.endsWith(LAST_CHUNK) && this.text.slice(bodyAt) !== '0\r\n\r\n') return;
      body = unchunked(this.text, bodyAt);
    }
    this.text = '';
    if (head.includes('\r\nconnection: close')) this.close();
    this.settle('resolve', { status: Number(head.slice(9, 12)), text: body });
  }
}

function unchunked(text, from) {
  let body = '';
  for (let at = from; ;) {
    const lineEnd = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (size === 0) return body;
    body += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
