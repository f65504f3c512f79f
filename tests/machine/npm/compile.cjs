// Compiles the Kaitai Struct descriptions that are given as JSON on standard input, and writes the files as JSON.
const compiler = require("kaitai-struct-compiler");

async function main() {
  const { descriptions, languages } = JSON.parse(require("fs").readFileSync(0, "utf8"));
  const files = {};
  for (const language of languages)
    for (const description of descriptions) Object.assign(files, await compiler.compile(language, description, null, false));
  process.stdout.write(JSON.stringify(files));
}

main().catch((error) => {
  process.stderr.write(String(error) + "\n");
  process.exit(1);
});
