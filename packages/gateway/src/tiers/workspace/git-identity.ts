/**
 * Who the operator is to git: the name and the address of its own configuration, for commits of commands. Nothing else of
 * that configuration reaches a command. Both are checked as text, since they become part of another configuration.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { GitIdentity } from '../../core/process.ts';
import { orElse } from '../../core/result.ts';
import { parseGitConfig } from './git-config.ts';

/** How deep files may include each other; git stops at ten. */
const MAX_INCLUDES = 4;
const MAX_CHARS = 256;

/** The identity that git would use in the home of the operator; null where it would ask for one. */
export function readGitIdentity(home: string | null): GitIdentity | null {
  const own = home === null ? [] : [join(home, '.config/git/config'), join(home, '.gitconfig')];
  const found = ['/etc/gitconfig', ...own].flatMap((path) => valuesIn(path, home, MAX_INCLUDES));
  const last = (key: string) => found.filter(({ name }) => name === key).at(-1)?.value ?? '';
  const [name, email] = [last('user.name'), last('user.email')];
  return isPlain(name) && isPlain(email) ? { name, email } : null;
}

type Setting = { readonly name: string; readonly value: string };

function valuesIn(path: string, home: string | null, includes: number): readonly Setting[] {
  const text = orElse(() => readFileSync(path, 'latin1'), '');
  return (parseGitConfig(text) ?? []).flatMap(({ name, value: bytes }): readonly Setting[] => {
    const value = Buffer.from(bytes, 'latin1').toString('utf8');
    if (name !== 'include.path') return [{ name, value }];
    const file = value.replace(/^~(?=\/)/, home ?? '~');
    return includes === 0 ? [] : valuesIn(resolve(dirname(path), file), home, includes - 1);
  });
}

/** Boundary: a line break or another control character would begin a setting of its own. */
function isPlain(text: string): boolean {
  return text !== '' && text.length <= MAX_CHARS && !/[\p{Cc}\p{Surrogate}<>\ufffd]/u.test(text);
}
