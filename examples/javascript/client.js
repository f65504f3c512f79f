#!/usr/bin/env node
// A client of LMCache's lm:// remote store for Node 18 or later, without packages, written to be copied.
//
// lmconform starts this program, writes one JSON object a line to its standard input and reads one a line from its standard
// output; docs/reference/client-protocol.md is the contract. The wire itself is in wire.js, sockets are in connection.js.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const wire = require('./wire.js');
const { Connection, lost } = require('./connection.js');
const { findRelease, formatKey } = wire;

const MISS = Symbol('miss');
const HEX_LIMIT = 64 * 1024;
let scratch = null;
let written = 0;
const connections = new Map();

// One function for each operation: members of "args" in, members of "ok" out, bytes as Buffers. hello declares these; what it
// does not declare is reported as unsupported and is not held against a client.
const operations = new Map(Object.entries({
  encode_request: ({ release: name, command, key, ...about }) => {
    const release = findRelease(name);
    return { bytes: wire.encodeRequest(release, command, formatKey(release, key), about) };
  },
  decode_request: ({ release: name, bytes }) => {
    const release = findRelease(name);
    const request = wire.decodeRequest(release, bytes);
    return { ...request, key: wire.parseKey(release, request.key, release.serversReadLayers) };
  },
  encode_reply: ({ release, code, ...about }) => ({ bytes: wire.encodeReply(findRelease(release), code, about) }),
  decode_reply: ({ release, bytes }) => wire.decodeReply(findRelease(release), bytes),
  encode_metadata: ({ release, ...about }) => ({ bytes: wire.encodeMetadata(findRelease(release), about) }),
  decode_metadata: ({ release, bytes, groups }) => wire.decodeMetadata(findRelease(release), bytes, groups),
  format_key: ({ release, key }) => ({ text: formatKey(findRelease(release), key) }),
  parse_key: ({ release, text }) => ({ key: wire.parseKey(findRelease(release), text) }),
  chunk_keys: ({ release, ...request }) => ({ chunks: [...wire.chunkKeys(findRelease(release), request)] }),
  pack_layout: (args) => wire.packLayout(args),
  unpack_layout: (args) => wire.unpackLayout(args),

  // Connected operations: each sends its own request, once, and nothing else.

  connect: async ({ connection: name, protocol, host, port, release, timeout_ms: timeout }) => {
    if (protocol !== 'lm') throw wire.unsupported(`this client speaks lm, not ${protocol}`);
    connections.get(name)?.close();
    const connection = new Connection(findRelease(release), host, port, timeout);
    await connection.exchange();
    connections.set(name, connection);
    return {};
  },
  put: async ({ connection, key, payload, ...about }) => {
    const server = named(connection);
    const description = { ...about, length: payload.length };
    const header = wire.encodeRequest(server.release, 'PUT', formatKey(server.release, key), description);
    await server.exchange(() => server.send(header, payload));
    return {};
  },
  get: async ({ connection, key, expect }) => {
    const server = named(connection);
    const header = wire.encodeRequest(server.release, 'GET', formatKey(server.release, key), wire.NOTHING);
    const identity = ({ format, dtype, shape }, length) => (
      JSON.stringify([format, dtype, wire.wireShape(server.release, shape), length]));
    const wanted = identity(expect, wire.payloadSize(expect));
    return server.exchange(async () => {
      await server.send(header);
      const { code, length, ...about } = await server.reply();
      if (code !== 'SUCCESS') return MISS;
      // Servers check nothing. Compare everything before a byte of the payload is read.
      const got = identity(about, length);
      if (got !== wanted) throw wire.refused(`expected ${wanted}, the server has ${got}`);
      return { ...about, payload: await server.receive(length) };
    });
  },
  exist: async ({ connection, key }) => {
    const server = named(connection);
    return { exists: await server.ask('EXIST', formatKey(server.release, key)) };
  },
  health: async ({ connection }) => {
    const server = named(connection);
    return { healthy: await server.ask('HEALTH', wire.anyKey(server.release)) };
  },
  // Real servers never answer: the wait ends in a timeout, and the socket with it, because an answer might still come.
  list: async ({ connection }) => {
    const server = named(connection);
    return server.exchange(async () => {
      await server.send(wire.encodeRequest(server.release, 'LIST', wire.anyKey(server.release), wire.NOTHING));
      const { code, length } = await server.reply();
      if (code !== 'SUCCESS' || length > 16 << 20) throw wire.malformed('no list of keys that this client would read');
      return { keys: wire.text(await server.receive(length)).split('\n').filter((key) => key !== '') };
    });
  },
  close: ({ connection }) => {
    connections.get(connection)?.close();
    connections.delete(connection);
    return {};
  },
}));
const declared = [...operations.keys()];

operations.set('hello', ({ protocol, scratch: folder }) => {
  if (protocol !== 1) throw wire.refused('this client speaks version 1 of the contract');
  scratch = folder;
  // concurrent: several requests may come before the first is answered. Leave it out, and they never do.
  return {
    name: 'plain Node example', version: '1.0.0', language: `JavaScript, Node ${process.version}`,
    operations: declared, releases: wire.RELEASES, concurrent: true,
  };
});
operations.set('state', () => ({
  connections: [...connections.values()].filter((connection) => connection.isOpen).length,
  file_descriptors: fs.readdirSync('/proc/self/fd').length - 1,
  threads: fs.readdirSync('/proc/self/task').length,
  // No resident_bytes: garbage is collected when it suits Node, so that the number would say little of what is kept.
}));
operations.set('bye', () => {
  for (const connection of connections.values()) connection.close();
  return {};
});

function named(name) {
  const connection = connections.get(name);
  if (connection === undefined) throw lost(`there is no connection ${name}`);
  return connection;
}

// Bytes cross the line as hexadecimal digits or, when there are many, as a file in the scratch folder that its receiver deletes.

function bytesFrom(value) {
  if ('hex' in value) return Buffer.from(value.hex, 'hex');
  if (path.basename(value.file) !== value.file) throw wire.refused(`${value.file} is no name of a file`);
  const file = path.join(scratch, value.file);
  const bytes = fs.readFileSync(file);
  fs.unlinkSync(file);
  return bytes;
}

function jsonFrom(bytes) {
  if (bytes.length <= HEX_LIMIT) return { hex: bytes.toString('hex') };
  const file = `node-${process.pid}-${++written}`;
  fs.writeFileSync(path.join(scratch, file), bytes);
  return { file, length: bytes.length };
}

async function answer(op, args) {
  try {
    const isBytes = (value) => typeof value === 'object' && value !== null && ('hex' in value || 'file' in value);
    const decoded = Object.entries(args).map(([name, value]) => [name, isBytes(value) ? bytesFrom(value) : value]);
    if (!operations.has(op)) throw wire.unsupported(`this client has no operation ${op}`);
    const result = await operations.get(op)(Object.fromEntries(decoded));
    if (result === MISS) return { miss: true };
    const encoded = Object.entries(result).map(([name, value]) => [name, Buffer.isBuffer(value) ? jsonFrom(value) : value]);
    return { ok: Object.fromEntries(encoded) };
  } catch (error) {
    if (error.kind === 'unsupported') return { unsupported: { reason: error.message } };
    return { error: { class: error.kind ?? 'internal', message: error.kind ? error.message : String(error.stack) } };
  }
}

async function serve(line) {
  const { id, op, args = {} } = JSON.parse(line);
  // Several of these run at once: whichever ends first is answered first, and `id` says which one that is.
  const reply = `${JSON.stringify({ id, ...(await answer(op, args)) })}\n`;
  process.stdout.write(reply, () => { if (op === 'bye') process.exit(0); });
}

// Not node:readline: it takes U+2028 and U+2029 for the end of a line, and JSON may hold them as they are.
let unfinished = [];
process.stdin.on('data', (chunk) => {
  for (let end; (end = chunk.indexOf('\n')) >= 0; chunk = chunk.subarray(end + 1)) {
    serve(Buffer.concat([...unfinished, chunk.subarray(0, end)]).toString());
    unfinished = [];
  }
  unfinished.push(chunk);
});
process.stdin.on('end', () => process.exit(0));
