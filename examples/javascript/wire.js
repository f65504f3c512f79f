// The lm:// wire as pure functions: headers, key strings, chunk hashes and layouts. No sockets, no files. See docs/spec/.
'use strict';
const { createHash } = require('node:crypto');

// An answer that is not "ok": an error with one of the classes of the client protocol, or "unsupported".
class Failure extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}
const refused = (message) => new Failure('refused', message);
const malformed = (message) => new Failure('protocol', message);
const unsupported = (message) => new Failure('unsupported', message);

// What differs between releases. Nothing else compares releases.

const RELEASES = [
  '0.3.1', '0.3.1.post1', '0.3.2', '0.3.3', '0.3.4', '0.3.5', '0.3.6', '0.3.7', '0.3.9', '0.3.9.post1', '0.3.9.post2', '0.3.10',
  '0.3.10.post1', '0.3.10.post2', '0.3.11', '0.3.12', '0.3.13', '0.3.14', '0.3.15', '0.4.1', '0.4.2', '0.4.3', '0.4.4', '0.4.5',
  '0.4.6', '0.4.7', '0.5.0', '0.5.1', '0.5.2', '0.5.3', '0.5.4', '0.5.5', '0.5.6',
];

function findRelease(name) {
  if (!RELEASES.includes(name)) throw unsupported(`this client does not know a release ${name} of lmcache`);
  const since = (first) => RELEASES.indexOf(name) >= RELEASES.indexOf(first);
  return {
    name,
    // Headers
    hasLocation: since('0.3.3'),
    replySize: since('0.3.3') ? 36 : 32,
    formats: since('0.5.1') ? 9 : since('0.4.5') ? 8 : 7,
    shortShapes: since('0.4.4'),
    severalGroups: since('0.3.12'),
    // Keys
    hasEngine: !since('0.3.13'),
    hasDtype: since('0.3.9.post1'),
    hasTags: since('0.3.4'),
    hasDigests: since('0.3.13'),
    serversReadLayers: since('0.3.14'),
    hashIsText: !since('0.3.3'),
    writesHashIn: since('0.3.6') ? 16 : 10,
    readsHashIn: since('0.3.4') ? 16 : 10, // 0.3.4 and 0.3.5 write decimal digits and read them in base 16
    tagMark: since('0.3.6') ? '' : 'lmcache.tag.', // a tag that is read without it is dropped
    keyDtypes: new Map(KEY_DTYPES.map(([name, own, shared = own]) => [name, since('0.3.14') ? own : shared])),
    // Chunk hashes
    third: since('0.4.1') ? 'empty' : since('0.3.4') ? 'none' : 'absent',
    folds: since('0.4.6'),
    cborNames: [since('0.3.9') && 'sha256_cbor', (!since('0.3.9') || since('0.3.9.post2')) && 'sha256_cbor_64bit'],
  };
}

// Maps and no objects: {}['constructor'] exists, and null is a name here.
const COMMANDS = new Map([['PUT', 1], ['GET', 2], ['EXIST', 3], ['LIST', 4], ['HEALTH', 5]]);
const CODES = new Map([['SUCCESS', 200], ['FAIL', 400]]);
const FORMATS = ['UNDEFINED', 'KV_2LTD', 'KV_T2D', 'KV_2TD', 'BINARY', 'BINARY_BUFFER', 'KV_MLA_FMT', 'EC_TD', 'HS_TD'];
const LOCATIONS = new Map([[null, 0], ['LocalCPUBackend', 1], ['LocalDiskBackend', 2]]);
const DTYPES = new Map([[null, 0], ['float16', 2], ['bfloat16', 3], ['float32', 4], ['float64', 5], ['uint8', 6],
  ['float8_e4m3fn', 7], ['float8_e5m2', 8]]);
const SIZES = new Map([['float16', 2], ['bfloat16', 2], ['float32', 4], ['float64', 8], ['uint8', 1], ['float8_e4m3fn', 1],
  ['float8_e5m2', 1]]);
// The name in a key, and the one until 0.3.13 where that is another: it is shared by two, and its reader gets the later of them.
const KEY_DTYPES = [['float16', 'half'], ['bfloat16', 'bfloat16'], ['float32', 'float'], ['float64', 'double'],
  ['uint8', 'uint8'], ['int8', 'int8'], ['int16', 'int16'], ['int32', 'int32'], ['int64', 'int64'], ['bool', 'bool'],
  ['float8_e4m3fn', 'fp8_e4m3fn', 'fp8_e4m3'], ['float8_e4m3fnuz', 'fp8_e4m3fnuz', 'fp8_e4m3'],
  ['float8_e5m2', 'fp8_e5m2'], ['float8_e5m2fnuz', 'fp8_e5m2fnuz', 'fp8_e5m2']];

const product = (numbers) => numbers.reduce((sofar, number) => sofar * number, 1);
const isBinary = (format) => format === 'BINARY' || format === 'BINARY_BUFFER';

function numberOf(table, name, what) {
  if (!table.has(name)) throw refused(`there is no ${what} ${name}`);
  return table.get(name);
}

function nameOf(table, number, what) {
  for (const [name, known] of table) if (known === number) return name;
  throw malformed(`there is no ${what} with the number ${number}`);
}

function formatNumber(release, name) {
  const number = FORMATS.indexOf(name);
  if (number < 0 || number >= release.formats) throw refused(`${release.name} has no format ${name}`);
  return number;
}

function formatName(release, number) {
  if (number < 0 || number >= release.formats) throw malformed(`${release.name} has no format with the number ${number}`);
  return FORMATS[number];
}

// 1 is another number of float16: nobody should write it, everybody must read it.
const dtypeName = (number) => nameOf(DTYPES, number === 1 ? 2 : number, 'dtype');

// Key strings. Hashes are BigInt where they are integers: a double keeps 53 bits and would name another chunk.

function formatKey(release, key) {
  const parts = [key.model, String(key.world_size), String(key.worker_id), hashText(release, key.chunk_hash)];
  if (release.hasEngine) {
    if (key.fmt === null) throw refused(`keys of ${release.name} begin with fmt, and it is null`);
    parts.unshift(key.fmt);
  }
  if (release.hasDtype) parts.push(numberOf(release.keyDtypes, key.dtype, 'dtype of a key'));
  if (Number.isInteger(key.layer)) parts.push(String(key.layer));
  for (const [name, value] of key.tags) {
    if (!release.hasTags || name.includes('%')) throw refused(`a key of ${release.name} cannot carry the tag ${name}`);
    parts.push(`${name}%${value}`);
  }
  if (parts.some((part) => part.includes('@'))) throw refused("'@' separates the parts of a key and cannot stand in one");
  return parts.join('@');
}

// No two's complement and no leading zeros of an integer, all digits of a digest: anything else is another key.
function hashText(release, hash) {
  if (release.hashIsText && 'text' in hash) return hash.text;
  if (!release.hashIsText && 'int' in hash) return BigInt(hash.int).toString(release.writesHashIn);
  if (release.hasDigests && hash.bytes) return hash.bytes;
  throw refused(`keys of ${release.name} have no place for such a hash: ${JSON.stringify(hash)}`);
}

// Servers of some releases do not know layer keys: `layers` is false for those.
function parseKey(release, text, layers = true) {
  const parts = text.split('@');
  const fixed = 4 + release.hasEngine + release.hasDtype;
  if (parts.length < fixed) throw malformed(`the key ${text} has too few parts, ${release.name} wants ${fixed}`);
  const key = { fmt: release.hasEngine ? parts.shift() : null, model: parts.shift() };
  key.world_size = smallInteger(parts.shift());
  key.worker_id = smallInteger(parts.shift());
  const digits = parts.shift();
  key.chunk_hash = release.hashIsText ? { text: digits } : { int: String(integer(digits, release.readsHashIn)) };
  key.dtype = release.hasDtype ? keyDtype(release, parts.shift()) : null;
  key.layer = layers && /^\d+$/.test(parts[0]) ? smallInteger(parts.shift()) : null;
  const tags = new Map();
  for (const part of parts) {
    const percent = part.indexOf('%');
    if (percent < 0 || !release.hasTags) throw malformed(`${part} in the key is no tag of ${release.name}`);
    if (part.startsWith(release.tagMark)) tags.set(part.slice(release.tagMark.length, percent), part.slice(percent + 1));
  }
  key.tags = [...tags];
  return key;
}

function integer(text, base) {
  if (!(base === 16 ? /^-?[0-9a-f]+$/i : /^-?[0-9]+$/).test(text)) throw malformed(`${text} in the key is no integer`);
  const magnitude = BigInt((base === 16 ? '0x' : '') + text.replace('-', ''));
  return text.startsWith('-') ? -magnitude : magnitude;
}

function smallInteger(text) {
  const number = Number(integer(text, 10));
  if (!Number.isSafeInteger(number)) throw refused(`${text} in the key is larger than this client likes`);
  return number;
}

function keyDtype(release, text) {
  const fitting = [...release.keyDtypes].filter(([, known]) => known === text);
  if (fitting.length === 0) throw malformed(`the key has an unknown dtype ${text}`);
  return fitting.pop()[0];
}

// HEALTH and LIST are about no key, but a server parses the one in their header, and closes if it cannot.
function anyKey(release) {
  const hash = release.hashIsText ? { text: '0' } : { int: '0' };
  const named = { fmt: 'vllm', model: 'm', world_size: 1, worker_id: 0, dtype: 'float16', tags: [] };
  return formatKey(release, { ...named, chunk_hash: hash });
}

// Headers: little-endian int32 words, and behind those of a request the key in a field of 150 bytes.

const KEY_FIELD = 150;
// Requests without payload describe nothing, and the real client says it like this.
const NOTHING = { length: 0, format: 'KV_2LTD', dtype: 'float16', shape: [0, 0, 0, 0], location: null };

function words(numbers) {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [index, number] of numbers.entries()) {
    // `| 0` would wrap silently and describe another payload.
    const fits = Number.isInteger(number) && number >= -(2 ** 31) && number < 2 ** 31;
    if (!fits) throw refused(`${number} is no integer of 32 bits`);
    bytes.writeInt32LE(number, 4 * index);
  }
  return bytes;
}

const readWords = (bytes) => Array.from({ length: bytes.length >> 2 }, (_, index) => bytes.readInt32LE(4 * index));

function wireShape(release, shape) {
  const fits = Array.isArray(shape) && shape.length <= 4 && shape.length >= (release.shortShapes ? 1 : 4);
  if (!fits) throw refused(`${release.name} cannot express the shape ${JSON.stringify(shape)}`);
  return [...shape, 0, 0, 0].slice(0, 4);
}

// The shape without its padding; the zeros behind the length of a BINARY are none.
function callerShape(release, format, dimensions) {
  const shape = [...dimensions];
  while (release.shortShapes && !isBinary(format) && shape.length > 1 && shape.at(-1) === 0) shape.pop();
  return shape;
}

function describing(release, about) {
  const location = numberOf(LOCATIONS, about.location, 'location');
  if (location !== 0 && !release.hasLocation) throw refused(`headers of ${release.name} carry no location`);
  return {
    first: [about.length, formatNumber(release, about.format), numberOf(DTYPES, about.dtype, 'dtype')],
    location: release.hasLocation ? [location] : [],
    shape: wireShape(release, about.shape),
  };
}

// The location stands in the middle of a request, and at the end of a reply.

function encodeRequest(release, command, key, about) {
  const field = Buffer.from(key); // UTF-8: the field counts bytes, not characters
  if (field.length > KEY_FIELD) throw refused(`the key has ${field.length} bytes, and ${KEY_FIELD} is the most: ${key}`);
  const { first, location, shape } = describing(release, about);
  const head = words([numberOf(COMMANDS, command, 'command'), ...first, ...location, ...shape]);
  return Buffer.concat([head, field, Buffer.alloc(KEY_FIELD - field.length, ' ')]);
}

function encodeReply(release, code, about) {
  const { first, location, shape } = describing(release, about);
  return words([numberOf(CODES, code, 'code'), ...first, ...shape, ...location]);
}

function decodeRequest(release, bytes) {
  requireSize(bytes, release.replySize + KEY_FIELD, release);
  const [command, length, format, dtype, ...rest] = readWords(bytes.subarray(0, -KEY_FIELD));
  const location = release.hasLocation ? rest.shift() : 0;
  const key = text(bytes.subarray(-KEY_FIELD)).trim();
  return { command: nameOf(COMMANDS, command, 'command'), key, ...described(release, length, format, dtype, rest, location) };
}

function decodeReply(release, bytes) {
  requireSize(bytes, release.replySize, release);
  const [code, length, format, dtype, ...rest] = readWords(bytes);
  const location = release.hasLocation ? rest.pop() : 0;
  return { code: nameOf(CODES, code, 'code'), ...described(release, length, format, dtype, rest, location) };
}

function requireSize(bytes, size, release) {
  if (bytes.length !== size) throw malformed(`such a header of ${release.name} has ${size} bytes, got ${bytes.length}`);
}

function described(release, length, number, dtype, dimensions, location) {
  const format = formatName(release, number);
  const shape = callerShape(release, format, dimensions);
  return { length, format, dtype: dtypeName(dtype), shape, location: nameOf(LOCATIONS, location, 'location') };
}

// Strict: Buffer.toString() would put U+FFFD in place of what is no UTF-8.
function text(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed('this is no UTF-8');
  }
}

function encodeMetadata(release, { length, format, groups }) {
  if (groups.length !== 1 && !release.severalGroups) throw refused(`${release.name} describes exactly one group`);
  const ofGroups = groups.flatMap(({ dtype, shape }) => [numberOf(DTYPES, dtype, 'dtype'), ...wireShape(release, shape)]);
  return words([length, formatNumber(release, format), ...ofGroups]);
}

function decodeMetadata(release, bytes, count) {
  if (count !== 1 && !release.severalGroups) throw refused(`${release.name} describes exactly one group`);
  const size = 8 + 20 * count;
  if (bytes.length < size) throw malformed(`${count} groups take ${size} bytes, got ${bytes.length}`);
  const [length, number, ...rest] = readWords(bytes.subarray(0, size)); // the value may follow in the same bytes
  const format = formatName(release, number);
  const groups = [];
  for (let at = 0; at < rest.length; at += 5) {
    groups.push({ dtype: dtypeName(rest[at]), shape: callerShape(release, format, rest.slice(at + 1, at + 5)) });
  }
  return { length, format, groups };
}

// How many bytes a value has that is what the caller expects.
function payloadSize({ format, dtype, shape }) {
  if (isBinary(format)) return shape[0];
  const last = shape.findLastIndex((dimension) => dimension !== 0);
  return product(shape.slice(0, Math.max(last, 0) + 1)) * numberOf(SIZES, dtype, 'size of dtype');
}

// Chunk hashes. Inside a chain a hash is a BigInt, a Buffer or (until 0.3.2) a string.

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
const bigEndian = (bytes) => BigInt(`0x${bytes.toString('hex')}`);

function* chunkKeys(release, request) {
  const { tokens, chunk_size: size, skip, none_hash: start } = request;
  const link = linkOf(release, request);
  if (size < 1 || skip < 0 || skip % size !== 0) throw refused(`skip must be a multiple of chunk_size, got ${skip} and ${size}`);
  const folded = (hash) => (release.folds && Buffer.isBuffer(hash) ? bigEndian(hash.subarray(0, 8)) : hash);
  let previous = folded('int' in start ? BigInt(start.int) : 'bytes' in start ? Buffer.from(start.bytes, 'hex') : start.text);
  for (let first = 0; first < tokens.length; first += size) {
    const chunk = tokens.slice(first, first + size);
    if (chunk.length < size && !request.save_unfull_chunk) return;
    // Chunks that are skipped count as well: each hash depends on all tokens before it.
    previous = folded(link(previous, chunk));
    if (first < skip) continue;
    const hash = typeof previous === 'bigint' ? { int: String(previous) }
      : Buffer.isBuffer(previous) ? { bytes: previous.toString('hex') } : { text: previous };
    yield { start: first, end: first + chunk.length, key: formatKey(release, { ...request, chunk_hash: hash, layer: null }) };
  }
}

// The function that makes a hash of the previous one and the tokens of a chunk.
function linkOf(release, { algorithm, none_hash: start, returns }) {
  if (release.hashIsText !== (algorithm === 'sha256_hex') || release.hashIsText !== ('text' in start)) {
    throw unsupported(`lmcache ${release.name} has no chain of ${algorithm} that starts from ${JSON.stringify(start)}`);
  }
  if (algorithm === 'sha256_hex') {
    // The chain goes through the digits of a digest, not through its bytes.
    return (previous, tokens) => sha256(previous, Buffer.from(Uint32Array.from(tokens).buffer)).toString('hex');
  }
  if (algorithm === 'builtin') {
    if (release.third === 'none') throw unsupported('until CPython 3.12 hash(None) is an address, another one in each process');
    if ('bytes' in start && !release.folds) throw unsupported("Python's own hash of bytes differs from process to process");
    const third = release.third === 'empty' ? [tupleHash([])] : [];
    const ofTokens = (tokens) => tupleHash(tokens.map((token) => integerHash(BigInt(token))));
    return (previous, tokens) => tupleHash([integerHash(previous), ofTokens(tokens), ...third]);
  }
  if (release.cborNames.includes(algorithm)) {
    const third = { absent: [], none: [null], empty: [[]] }[release.third];
    // Old versions of vLLM return the last 8 bytes as an integer, and there the start is one as well.
    const digests = (returns ?? ('bytes' in start ? 'bytes' : 'int')) === 'bytes';
    return (previous, tokens) => {
      const digest = sha256(cbor([previous, tokens, ...third]));
      return digests ? digest : bigEndian(digest.subarray(-8));
    };
  }
  throw unsupported(`this client has no hash function ${algorithm}, or the release does not know the name`);
}

// Canonical CBOR of integers, bytes, null and arrays of those.
function cbor(value) {
  if (value === null) return Buffer.from([0xf6]);
  if (Buffer.isBuffer(value)) return Buffer.concat([cborHead(2, BigInt(value.length)), value]);
  if (Array.isArray(value)) return Buffer.concat([cborHead(4, BigInt(value.length)), ...value.map(cbor)]);
  const number = BigInt(value);
  const negative = number < 0n;
  const magnitude = negative ? -1n - number : number;
  if (magnitude < 2n ** 64n) return cborHead(negative ? 1 : 0, magnitude);
  let digits = magnitude.toString(16);
  if (digits.length % 2 === 1) digits = `0${digits}`; // half a byte at the end would be dropped without a word
  return Buffer.concat([cborHead(6, negative ? 3n : 2n), cbor(Buffer.from(digits, 'hex'))]);
}

// A type and a number, in as few bytes as possible.
function cborHead(major, number) {
  if (number < 24n) return Buffer.from([(major << 5) | Number(number)]);
  const power = [0, 1, 2, 3].find((power) => number < 2n ** (8n * 2n ** BigInt(power)));
  const digits = number.toString(16).padStart(2 * 2 ** power, '0');
  return Buffer.concat([Buffer.from([(major << 5) | (24 + power)]), Buffer.from(digits, 'hex')]);
}

// CPython's hash of an integer, and of a tuple from the hashes of its elements.

function integerHash(value) {
  const magnitude = (value < 0n ? -value : value) % (2n ** 61n - 1n);
  const hash = value < 0n ? -magnitude : magnitude;
  return hash === -1n ? -2n : hash;
}

function tupleHash(hashes) {
  const start = 2870177450012600261n;
  const cut = (number) => BigInt.asUintN(64, number);
  let sum = start;
  for (const hash of hashes) {
    sum = cut(sum + cut(hash) * 14029467366897019727n);
    sum = cut((sum << 31n) | (sum >> 33n));
    sum = cut(sum * 11400714785074694791n);
  }
  sum = cut(sum + (BigInt(hashes.length) ^ start ^ 3527539n));
  return sum === 2n ** 64n - 1n ? 1546275796n : BigInt.asIntN(64, sum);
}

// Layouts: chunks and paged memory are made of the same rows, in another order.

// Sizes, and moveRows, which calls move(place in paged memory, place in the chunk, size) for each row.
function layout({ format, dtype, paged_shape: paged, slots }) {
  const latent = format === 'KV_MLA_FMT';
  const known = ['KV_2LTD', 'KV_T2D', 'KV_2TD', 'KV_MLA_FMT'].includes(format) && paged.length === (latent ? 4 : 6);
  if (!known) throw refused(`${format} with a paged shape of ${paged.length} dimensions is no layout of paged memory`);
  const [layers, sides, blocks, blockSize, ...row] = latent ? [paged[0], 1, ...paged.slice(1)] : paged;
  const hidden = product(row);
  const tokens = slots.length, capacity = blocks * blockSize, size = hidden * numberOf(SIZES, dtype, 'size of dtype');
  if (['KV_T2D', 'KV_2TD'].includes(format) && layers !== 1) throw refused(`${format} holds one layer, not ${layers}`);
  if (slots.some((slot) => slot < 0 || slot >= capacity)) throw refused(`there are ${capacity} slots, numbered from 0`);
  const shape = { KV_T2D: [tokens, 2, hidden], KV_2TD: [2, tokens, hidden] }[format] ?? [sides, layers, tokens, hidden];
  const moveRows = (move) => {
    for (let layer = 0; layer < layers; layer++) {
      for (let side = 0; side < sides; side++) {
        slots.forEach((slot, token) => {
          const inChunk = format === 'KV_T2D' ? token * 2 + side : (side * layers + layer) * tokens + token;
          move(((layer * sides + side) * capacity + slot) * size, inChunk * size, size);
        });
      }
    }
  };
  return { shape, chunkSize: layers * sides * tokens * size, pagedSize: layers * sides * capacity * size, moveRows };
}

function packLayout(args) {
  const { shape, chunkSize, pagedSize, moveRows } = layout(args);
  if (args.paged.length !== pagedSize) throw refused(`the paged memory has ${pagedSize} bytes, got ${args.paged.length}`);
  const bytes = Buffer.alloc(chunkSize);
  moveRows((inPaged, inChunk, size) => args.paged.copy(bytes, inChunk, inPaged, inPaged + size));
  return { bytes, shape };
}

function unpackLayout(args) {
  const { shape, chunkSize, pagedSize, moveRows } = layout(args);
  if (String(args.shape) !== String(shape) || args.bytes.length !== chunkSize) {
    throw refused(`the chunk has the shape ${shape} and ${chunkSize} bytes, got ${args.shape} and ${args.bytes.length} bytes`);
  }
  const paged = Buffer.alloc(pagedSize);
  moveRows((inPaged, inChunk, size) => args.bytes.copy(paged, inPaged, inChunk, inChunk + size));
  return { paged };
}

module.exports = {
  Failure, refused, malformed, unsupported, RELEASES, NOTHING, findRelease, formatKey, parseKey, anyKey, encodeRequest,
  decodeRequest, encodeReply, decodeReply, encodeMetadata, decodeMetadata, wireShape, payloadSize, chunkKeys, packLayout,
  unpackLayout, text,
};
