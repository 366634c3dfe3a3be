import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TOOL_HOMES } from '../../src/runner/tool-homes.table.ts';
import { findToolHomes, NO_TOOLS } from '../../src/runner/tool-homes.ts';
import { tempDir } from '../fixture/temp-dir.ts';

/** A home with these files, in which any user can look around. */
function homeWith(...paths: readonly string[]): string {
  const home = realpathSync(tempDir());
  chmodSync(home, 0o755);
  for (const path of paths) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), '');
  }
  return home;
}

describe('findToolHomes()', () => {
  test('shows nothing unless it is asked for', () => {
    expect(findToolHomes([], homeWith('.cargo/bin/cargo'))).toEqual(NO_TOOLS);
  });

  test('shows what a tool needs, and neither its credentials nor its settings', () => {
    const home = homeWith(
      ...['.cargo/bin/cargo', '.cargo/registry/x', '.cargo/credentials.toml', '.cargo/config.toml'],
      ...['.rustup/toolchains/stable/bin/rustc', '.rustup/settings.toml'],
    );
    const { readOnly, searchPath, variables } = findToolHomes(['rust'], home);
    const shown = ['.cargo/bin', '.cargo/registry', '.rustup/toolchains', '.rustup/settings.toml'];
    expect(readOnly).toEqual(shown.map((path) => join(home, path)));
    expect(searchPath).toEqual([join(home, '.cargo/bin')]);
    expect(variables).toEqual({ CARGO_HOME: join(home, '.cargo'), RUSTUP_HOME: join(home, '.rustup') });
  });

  test('finds the programs of the highest version first', () => {
    const versions = ['v9.1.0', 'v20.9.0', 'v20.10.0'];
    const home = homeWith(
      ...versions.map((version) => `.nvm/versions/node/${version}/bin/node`),
      '.nvm/versions/node/v20.10.0/etc/npmrc',
    );
    const { readOnly, searchPath } = findToolHomes(['nvm'], home);
    const binOf = (version: string) => join(home, `.nvm/versions/node/${version}/bin`);
    expect(searchPath).toEqual(['v20.10.0', 'v20.9.0', 'v9.1.0'].map(binOf));
    expect(readOnly.filter((path) => path.includes('etc'))).toEqual([]);
  });

  test('follows the links of a home', () => {
    const home = homeWith('dotfiles/pyenv/shims/python', 'dotfiles/pyenv/versions/3/bin/python');
    symlinkSync(join(home, 'dotfiles/pyenv'), join(home, '.pyenv'));
    expect(findToolHomes(['pyenv'], home).searchPath).toEqual([join(home, 'dotfiles/pyenv/shims')]);
  });

  test('shows with "*" what is there', () => {
    const home = homeWith('.cargo/bin/cargo', '.deno/bin/deno');
    const { searchPath } = findToolHomes(['*'], home);
    expect(searchPath).toEqual([join(home, '.deno/bin'), join(home, '.cargo/bin')]);
    expect(findToolHomes(['*'], homeWith())).toEqual(NO_TOOLS);
  });

  test.each([
    [['bun'], 'Cannot show the tools of "bun": there are none in'],
    [['nvmm'], 'it is unknown, expected one of nvm, fnm'],
  ])('refuses %j, which would show nothing', (names, message) => {
    expect(() => findToolHomes(names, homeWith('.cargo/bin/cargo'))).toThrow(message);
  });

  test('refuses a home that the user of commands cannot enter: where palisade is root, another one', () => {
    const home = homeWith('.cargo/bin/cargo');
    chmodSync(home, 0o700);
    const find = expect(() => findToolHomes(['rust'], home));
    if (process.getuid?.() === 0) find.toThrow(`cannot enter "${home}"`);
    else find.not.toThrow();
  });
});

test('no tool home shows a whole home, a directory of settings, or a file that tools keep tokens in', () => {
  const shown = TOOL_HOMES.flatMap((row) => row.shown);
  const secrets = /(?:^|\/)(?:credentials[^/]*|\.?npmrc|etc|\.config|\.netrc|auth[^/]*|config(?:\.toml)?)$/;
  expect(shown.filter((path) => secrets.test(path) || !path.includes('/'))).toEqual([]);
});
