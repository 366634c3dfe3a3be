/**
 * The program that keeps the AssemblyScript compiler ready, in a jail: it reads a request per line (the arguments and
 * the sources) and answers each with the module or with what the compiler printed. Its start takes longer than a build.
 * Only the sources that it is handed, and what the jail shows, can be read by it.
 */
export const ASC_SERVER = `import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const asc = await import(pathToFileURL(process.argv[2]).href);
const shown = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, words, out, files } = JSON.parse(line);
  const sources = new Map(Object.entries(files));
  const [stdout, stderr] = [asc.createMemoryStream(), asc.createMemoryStream()];
  const pathOf = (name, base) => resolve(base, name);
  let [module, map] = [null, null];
  const { error } = await asc.main(words, {
    stdout,
    stderr,
    readFile: (name, base) => sources.get(relative('.', pathOf(name, base))) ?? shown(pathOf(name, base)),
    writeFile: (name, contents, base) => {
      if (pathOf(name, base) === resolve(out)) module = Buffer.from(contents).toString('base64');
      if (pathOf(name, base) === resolve(\`\${out}.map\`)) map = String(contents);
    },
    listFiles: () => [],
  });
  const text = \`\${stdout}\${stderr}\`;
  process.stdout.write(\`\${JSON.stringify({ id, ok: !error, module, map, text })}\\n\`);
}
`;
