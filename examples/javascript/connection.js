// One connection to an lm:// server: in step or closed, one request at a time however many are asked for.
'use strict';
const net = require('node:net');
const { setImmediate: turnOfTheLoop } = require('node:timers/promises');
const { Failure, malformed, NOTHING, encodeRequest, decodeReply } = require('./wire.js');

const lost = (message) => new Failure('connection', message);

class Connection {
  #socket = null;
  #chunks = []; // bytes that came and were not asked for yet
  #buffered = 0;
  #waiting = null; // what the request under way waits for: { reject, arrived }
  #busy = false;
  #closed = false;
  #turn = Promise.resolve(); // ends when the requests that were asked for so far are done

  constructor(release, host, port, timeout) {
    Object.assign(this, { release, host, port, timeout });
  }

  get isOpen() {
    return this.#socket !== null;
  }

  // A request and its reply, alone on the connection: requests queue here, so that each reply belongs to the request before it.
  // Any failure destroys the socket, because what is still to come would be taken for the next reply. A new one is opened before
  // the next request, and never in the middle of one.
  async exchange(work = async () => {}) {
    const until = Date.now() + this.timeout;
    const before = this.#turn;
    let done;
    this.#turn = new Promise((resolve) => { done = resolve; });
    await before;
    const timer = setTimeout(() => this.#drop(new Failure('timeout', `no end within ${this.timeout} ms`)), until - Date.now());
    try {
      // Two turns of the event loop see everything that the socket holds by now. If that is something, it is the end, or bytes
      // that answer no request.
      await turnOfTheLoop();
      await turnOfTheLoop();
      if (this.#closed) throw lost('the connection was closed');
      if (Date.now() >= until) throw new Failure('timeout', 'other requests on this connection took too long; nothing was sent');
      if (this.#buffered > 0) this.#drop();
      this.#busy = true;
      if (this.#socket === null) await this.#open();
      return await work(this);
    } catch (error) {
      this.#drop(error);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#busy = false;
      done();
    }
  }

  // Resolves when the operating system has all bytes. A PUT is over then: servers do not acknowledge it.
  send(...parts) {
    const socket = this.#connected();
    return this.#wait((resolve) => {
      socket.cork();
      parts.forEach((part) => socket.write(part));
      socket.write('', (error) => { if (!error) resolve(); }); // an error is told to the listener for 'error' as well
      socket.uncork();
    });
  }

  // Exactly `size` bytes. TCP is a stream: a 'data' event brings what is there, be it one byte of a header or three replies.
  receive(size) {
    this.#connected();
    return this.#wait((resolve) => {
      const arrived = () => {
        if (this.#buffered < size) return;
        const all = Buffer.concat(this.#chunks);
        this.#chunks = [all.subarray(size)];
        this.#buffered -= size;
        resolve(all.subarray(0, size));
      };
      this.#waiting.arrived = arrived;
      arrived();
    });
  }

  async reply() {
    const reply = decodeReply(this.release, await this.receive(this.release.replySize));
    if (reply.length < 0 || (reply.length > 0 && reply.code !== 'SUCCESS')) {
      throw malformed(`a reply with the code ${reply.code} announces ${reply.length} bytes`);
    }
    return reply;
  }

  // Ask for something that is answered by a header alone.
  async ask(command, key) {
    const header = encodeRequest(this.release, command, key, NOTHING);
    return this.exchange(async () => {
      await this.send(header);
      const reply = await this.reply();
      if (reply.length > 0) throw malformed(`the reply to ${command} announces ${reply.length} bytes`);
      return reply.code === 'SUCCESS';
    });
  }

  // For good: requests that are under way or queued end with an error.
  close() {
    this.#closed = true;
    this.#drop(lost('the connection was closed'));
  }

  #open() {
    return this.#wait((resolve) => {
      const socket = net.connect({ host: this.host, port: this.port, noDelay: true }, resolve);
      this.#socket = socket;
      const ended = (error) => {
        if (socket === this.#socket) this.#drop(lost(error?.message ?? 'the server closed the connection'));
      };
      // Without a listener for 'error' a reset would end the program.
      socket.on('error', ended).on('end', ended).on('close', () => ended());
      socket.on('data', (chunk) => {
        if (socket !== this.#socket) return;
        this.#chunks.push(chunk);
        this.#buffered += chunk.length;
        if (!this.#busy) socket.pause(); // nobody asked for it: do not collect more
        this.#waiting?.arrived?.();
      });
    });
  }

  #connected() {
    if (this.#socket === null) throw lost('the server closed the connection');
    return this.#socket;
  }

  // A promise that #drop can break.
  #wait(start) {
    return new Promise((resolve, reject) => {
      this.#waiting = { reject };
      start(resolve);
    }).finally(() => { this.#waiting = null; });
  }

  #drop(error) {
    this.#socket?.destroy();
    this.#socket = null;
    this.#chunks = [];
    this.#buffered = 0;
    this.#waiting?.reject(error);
  }
}

module.exports = { Connection, lost };
