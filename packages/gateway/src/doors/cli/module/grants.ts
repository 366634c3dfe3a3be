import { CAPABILITY_NAME_SHAPE, isCapabilityName } from '../../../core/capability-name.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { parsePrefix } from '../../../core/storage-key.ts';
import { NO_GRANTS, type WasmGrants } from '../../../core/wasm.ts';
import { parseRule } from '../../../egress/rule.ts';
import type { GrantKind } from '../../../registry/granted.ts';
import { boundTo } from '../../../runner/host-lists.ts';
import { wrongUsage } from '../input.ts';
import { GRANT_FORMS } from './grants.table.ts';

/** Each is a capability of its own, which the guest refers to by its index. */
const MOST_GRANTS = 64;
const CONFIG_KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const CONFIG_KEY_SHAPE = 'up to 64 letters, digits and . _ - that begin with a letter or digit';
const CHANNEL_ACTS = ['publish', 'receive'];

/** A parsed grant: what must not be granted twice, and the grants with it added. */
type Read = { readonly what: string; readonly join: (grants: WasmGrants) => WasmGrants };
type Problem = { readonly is: string; readonly expected: string };

/** The grants of all `--grant`; each must have exactly one of the forms. */
export function readGrants(words: readonly string[]): WasmGrants {
  if (words.length > MOST_GRANTS)
    throw wrongUsage(`Cannot use --grant ${words.length} times: expected at most ${MOST_GRANTS} times`);
  const granted = new Set<string>();
  let grants = NO_GRANTS;
  for (const word of words) {
    const { what, join } = readGrant(word);
    if (granted.has(what))
      throw badGrant(word, { is: `${what} is granted twice`, expected: 'one grant of it' });
    granted.add(what);
    grants = join(grants);
  }
  return grants;
}

/** Boundary: a value grants exactly what it names; one that nearly has a form is refused, never corrected. */
function readGrant(word: string): Read {
  const [, kind = '', rest] = /^([a-z]+)([=:].*)?$/s.exec(word) ?? [];
  if (!isGrantKind(kind)) throw badGrant(word, { is: 'it is not a grant', expected: formsInWords() });
  const { form } = GRANT_FORMS[kind];
  const sign = kind === 'config' ? ':' : '=';
  const isPlain = form === kind;
  if (isPlain ? rest !== undefined : rest?.[0] !== sign || rest.length === 1)
    throw badGrant(word, { is: isPlain ? 'it has a value' : 'it has no value', expected: form });
  const read = isPlain
    ? { what: kind, join: (grants: WasmGrants) => ({ ...grants, [kind]: true }) }
    : READERS[kind as keyof typeof READERS]((rest ?? '').slice(1));
  if ('is' in read) throw badGrant(word, read);
  return read;
}

const READERS = {
  http: readHttp,
  secret: readSecret,
  storage: readStorage,
  channel: readChannel,
  config: readConfig,
};

function readHttp(entry: string): Read | Problem {
  const rule = parseRule(entry);
  if (!rule.ok) return problemOf(rule.why);
  if (rule.value.denies) return { is: 'its entry denies', expected: 'an entry without "!"' };
  return { what: `http=${entry}`, join: (grants) => ({ ...grants, http: [...grants.http, entry] }) };
}

function readSecret(value: string): Read | Problem {
  const [, word = '', list] = /^([^@]*)(?:@(.*))?$/s.exec(value) ?? [];
  const named = nameAndMode(word, ['reveal']);
  if ('is' in named) return named;
  const { name, mode } = named;
  const hosts = list?.split(',') ?? [];
  const odd = hosts.length === 0 ? null : problemWithHosts(hosts);
  if (odd !== null) return odd;
  // A secret that can neither be sent nor read is a mistake.
  if (hosts.length === 0 && mode === null)
    return { is: 'it names no host', expected: `secret=${name}@HOST, or secret=${name}:reveal` };
  const secret = { name, mayReveal: mode === 'reveal', hosts };
  return {
    what: `secret ${name}`,
    join: (grants) => ({ ...grants, secrets: [...grants.secrets, secret] }),
  };
}

function problemWithHosts(hosts: readonly string[]): Problem | null {
  try {
    boundTo(hosts, 'hosts');
    return null;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return problemOf(error.message.replace(/^hosts: /, ''));
  }
}

function readStorage(value: string): Read | Problem {
  const [raw = '', mode, ...more] = value.split(':');
  if (more.length > 0 || (mode !== undefined && mode !== 'ro'))
    return { is: `"${mode}" follows its prefix`, expected: '"ro" or nothing' };
  const parsed = parsePrefix(raw);
  if (!parsed.ok) return problemOf(parsed.message);
  const storage = { read: [raw], write: mode === 'ro' ? [] : [raw] };
  return {
    what: `storage ${parsed.prefix}/`,
    join: (grants) => ({ ...grants, storage: [...grants.storage, storage] }),
  };
}

function readChannel(value: string): Read | Problem {
  const named = nameAndMode(value, CHANNEL_ACTS);
  if ('is' in named) return named;
  const { name, mode } = named;
  const may = (act: string) => mode === null || mode === act;
  const channel = { name, publish: may('publish'), receive: may('receive') };
  return {
    what: `channel ${name}`,
    join: (grants) => ({ ...grants, channels: [...grants.channels, channel] }),
  };
}

function readConfig(value: string): Read | Problem {
  const [, key, text = ''] = /^([^=]*)=(.*)$/s.exec(value) ?? [];
  if (key === undefined) return { is: 'it has no "="', expected: GRANT_FORMS.config.form };
  if (!CONFIG_KEY.test(key)) return { is: `its key is "${key}"`, expected: CONFIG_KEY_SHAPE };
  return {
    what: `config:${key}`,
    join: (grants) => ({ ...grants, config: { ...grants.config, [key]: text } }),
  };
}

type Named = { readonly name: string; readonly mode: string | null };

function nameAndMode(value: string, modes: readonly string[]): Named | Problem {
  const [name = '', mode, ...more] = value.split(':');
  if (!isCapabilityName(name)) return { is: `its name is "${name}"`, expected: CAPABILITY_NAME_SHAPE };
  if (more.length === 0 && (mode === undefined || modes.includes(mode))) return { name, mode: mode ?? null };
  const expected = [...modes.map((each) => `"${each}"`), 'nothing'].join(' or ');
  return { is: `"${[mode, ...more].join(':')}" follows its name`, expected };
}

/** The message of another module, `Cannot use X: it is Y, expected Z`, as part of this one. */
function problemOf(sentence: string): Problem {
  const [, is = sentence, expected = 'another'] = /^Cannot use (.*), expected (.*?)$/s.exec(sentence) ?? [];
  return { is, expected };
}

function isGrantKind(kind: string): kind is GrantKind {
  return Object.hasOwn(GRANT_FORMS, kind);
}

function formsInWords(): string {
  const forms = Object.values(GRANT_FORMS).map(({ form }) => form);
  return `one of ${forms.join(', ')}`;
}

function badGrant(word: string, { is, expected }: Problem) {
  return wrongUsage(`Cannot use --grant "${word}": ${is}, expected ${expected}`);
}
