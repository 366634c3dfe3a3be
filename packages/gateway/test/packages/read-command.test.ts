import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PackageCommand, readPackageCommand, sourceOf } from '../../src/packages/read-command.ts';
import { RUNNERS } from '../../src/packages/runners.table.ts';

/** Command lines of READMEs, and what they mean. */
const READ: readonly [
  line: string,
  registry: 'npm' | 'pypi',
  packages: string,
  program: string | null,
  args: string,
][] = [
  ['npx -y @acme/files /srv/work', 'npm', '@acme/files', null, '/srv/work'],
  ['npx @acme/files@latest --port 80', 'npm', '@acme/files', null, '--port 80'],
  ['/usr/local/bin/npx --yes files@1.2.3', 'npm', 'files@1.2.3', null, ''],
  ['npx -p @acme/files -p extra files-server -v', 'npm', '@acme/files extra', 'files-server', '-v'],
  ['npx --package=@acme/files files-server', 'npm', '@acme/files', 'files-server', ''],
  ['npx files -- --flag', 'npm', 'files', null, '-- --flag'],
  ['npm exec -y files -- --flag', 'npm', 'files', null, '--flag'],
  ['npm exec -- files --flag', 'npm', 'files', null, '--flag'],
  ['bunx files@^2', 'npm', 'files@^2', null, ''],
  ['pnpm dlx --package @acme/files run-it', 'npm', '@acme/files', 'run-it', ''],
  ['yarn dlx -q files', 'npm', 'files', null, ''],
  ['uvx mcp-server-git --repository /srv/work', 'pypi', 'mcp-server-git', null, '--repository /srv/work'],
  ['uvx mcp-server-git@2025.1.14', 'pypi', 'mcp-server-git==2025.1.14', null, ''],
  ['uvx mcp-server-git@latest', 'pypi', 'mcp-server-git', null, ''],
  [
    'uv tool run --from files[web]==1.2 --with extra>=2,<3 run-it',
    'pypi',
    'files[web]==1.2 extra>=2,<3',
    'run-it',
    '',
  ],
  ['pipx run --spec files==1.2 run-it x', 'pypi', 'files==1.2', 'run-it', 'x'],
];

const REFUSED: readonly [line: string, why: RegExp][] = [
  ['npx -c "node server.js"', /"-c" is not supported/],
  ['npx --registry=http://elsewhere files', /is not supported/],
  ['npx --yes=no files', /is not supported/],
  ['npx -y', /names nothing to run/],
  ['npx -p', /has no value/],
  ['npx -p @acme/files ../escape', /not the name of a program/],
  ['npx git+https://example.com/files.git', /not the name of a package/],
  ['npx https://example.com/files.tgz', /not the name of a package/],
  ['npx ./files', /not the name of a package/],
  ['npx files@file:../files', /not the name of a package/],
  ['npx acme/files', /not the name of a package/],
  ['npm exec files --flag', /would read "--flag" itself/],
  ['uvx --python 3.9 files', /"--python" is not supported/],
  ['uvx --from git+https://example.com/files run-it', /not the name of a package/],
  ['uvx --from ./files run-it', /not the name of a package/],
  ['pipx run --pip-args=--pre files', /is not supported/],
  ['docker run -i --rm mcp/files', /it starts a container/],
  ['podman run mcp/files', /it starts a container/],
];

function commandOf(line: readonly string[]): PackageCommand {
  const read = readPackageCommand(line);
  if (read?.ok !== true) throw new Error(`Cannot read ${line.join(' ')}`);
  return read.value;
}

describe('readPackageCommand()', () => {
  test.each(READ)('reads %s', (line, registry, packages, program, args) => {
    const read = commandOf(line.split(' '));
    expect(read).toEqual({
      registry,
      packages: packages.split(' '),
      program,
      args: args === '' ? [] : args.split(' '),
    });
  });

  test.each(REFUSED)('refuses %s, with a remedy', (line, why) => {
    const read = readPackageCommand(line.split(' '));
    expect(read).toMatchObject({
      ok: false,
      problem: { is: expect.stringMatching(why), hint: expect.any(String) },
    });
  });

  test.each(['node server.js', 'npm start', 'uv run server.py', 'docker ps', 'pipx list', ''])(
    'leaves %s alone',
    (line) => expect(readPackageCommand(line.split(' '))).toBeNull(),
  );

  test('passes every argument behind the package on as it is', () => {
    const words = fc.array(fc.string({ maxLength: 12 }), { maxLength: 6 });
    const rows = RUNNERS.filter(({ readsOn }) => readsOn !== true);
    fc.assert(
      fc.property(fc.constantFrom(...rows), words, (row, args) => {
        expect(commandOf([...row.words, 'files', ...args]).args).toEqual(args);
      }),
    );
  });

  test('names no package but by its name and version, whatever the words are', () => {
    const odd = fc.oneof(
      fc.string(),
      fc.constantFrom('-p', '--from', '--with', '--', '-y', 'a@b:c', '../a', 'a@latest'),
    );
    fc.assert(
      fc.property(fc.constantFrom(...RUNNERS), fc.array(odd, { maxLength: 6 }), (row, words) => {
        const read = readPackageCommand([...row.words, ...words]);
        for (const spec of read?.ok === true ? read.value.packages : [])
          expect(spec).toMatch(/^[@A-Za-z0-9~][A-Za-z0-9@^~<>=*|+._,![\]-]*(\/[A-Za-z0-9@^~<>=*|+._-]+)?$/);
      }),
    );
  });

  test('gives the same source for every runner of a registry', () => {
    const lines = [
      ['npx', '-y', 'files@latest'],
      ['bunx', 'files'],
      ['npm', 'exec', '--', 'files', '-x'],
    ];
    expect(new Set(lines.map((line) => sourceOf(commandOf(line))))).toEqual(new Set(['npm:files']));
  });
});
