// Reads frames with parsers that were compiled to JavaScript: JSON in, for each frame the numbers that it holds or why it holds none.
const fs = require("fs");
const { folder, frames } = JSON.parse(fs.readFileSync(0, "utf8"));
const Stream = require("kaitai-struct/KaitaiStream");

const parsers = {};
function parser(name) {
  return (parsers[name] ??= require(folder + "/" + name + ".js")[name]);
}

function read({ parser: name, type, hex }) {
  try {
    const one = new (parser(name)[type])(new Stream(Buffer.from(hex, "hex")), null, null);
    const first = type === "Request" ? one.command : one.code;
    const key = type === "Request" ? [one.key.model, one.key.worldSize, one.key.workerId, one.key.chunkHash] : null;
    const payload = one.payload === undefined ? null : Buffer.from(one.payload).toString("hex");
    return { numbers: [first, one.length, one.format, one.dtype, ...one.shape], location: one.location ?? null, key, payload };
  } catch (error) {
    return { error: String(error) };
  }
}

process.stdout.write(JSON.stringify(frames.map(read)));
