/** A property of the module: it reaches nothing beyond the call, so it cannot be withheld. */
import { anyText, list, orNull, record } from '../../core/json-shape.ts';
import { accept, reject } from '../../core/result.ts';
import { flag as flagShape } from '../../core/shape.ts';
import { isSet, listIn } from '../manifest/checked.ts';
import { flag, texts } from '../manifest/key-rows.ts';
import type { Capability } from './capability.ts';

const CONFIG_KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const CONFIG_KEY_SHAPE = 'up to 64 letters, digits and . _ - that begin with a letter or digit';
const CONFIG_FORM = 'config:KEY=VALUE';

type PlainKind = 'log' | 'clock' | 'random';

type PlainTexts = {
  /** The function of the ABI that uses it. */
  readonly import: string;
  /** Of the key in the manifest, of the ask, and of the grant. */
  readonly key: string;
  readonly ask: string;
  readonly grant: string;
};

function plain(kind: PlainKind, sentences: PlainTexts): Capability {
  return {
    kind,
    isReaching: false,
    manifestKey: kind,
    keys: [flag(kind, false, sentences.key)],
    readAsks: (asks) => ({ [kind]: isSet(asks, kind) }),
    shapes: { asks: { [kind]: flagShape }, grants: { [kind]: flagShape } },
    describe: (asks) => (asks[kind] ? [{ spelling: kind, sentence: sentences.ask, terms: [kind] }] : []),
    grantAll: (asks) => ({ [kind]: asks[kind] }),
    usable: (grants, imports) => ({ [kind]: grants[kind] && imports.has(sentences.import) }),
    terms: (grants) => (grants[kind] ? [kind] : []),
    form: kind,
    sentence: sentences.grant,
    parseGrant: () => accept({ what: kind, addTo: () => ({ [kind]: true }) }),
    spellGrants: (grants) => (grants[kind] ? [kind] : []),
  };
}

export const log = plain('log', {
  import: 'log',
  key: 'It writes to the log of the call.',
  ask: 'writes lines to the log',
  grant: 'Log lines, on standard error.',
});

export const clock = plain('clock', {
  import: 'clock_ms',
  key: 'It reads the time when the call began.',
  ask: 'knows the time when the call began',
  grant: 'The start time of the call.',
});

export const random = plain('random', {
  import: 'random',
  key: 'It reads random bytes.',
  ask: 'gets random bytes',
  grant: 'Random bytes.',
});

/** Values that the operator gives by key. A key that is asked for is always granted; whether it has a value is not. */
export const config: Capability = {
  kind: 'config',
  isReaching: false,
  manifestKey: 'config',
  keys: [
    {
      ...texts(
        'config',
        'capability-name',
        ['unit'],
        'Keys whose values the operator sets; without this key it has no configuration.',
      ),
      default: null,
    },
  ],
  readAsks: (asks) => ({ config: asks.config !== undefined ? listIn(asks, 'config') : null }),
  shapes: { asks: { config: orNull(list(anyText)) }, grants: { config: orNull(record(anyText)) } },
  describe: (asks) =>
    (asks.config ?? []).map((key) => ({
      spelling: `config:${key}`,
      sentence: `reads the value of "${key}" that you give it`,
      terms: [],
    })),
  grantAll: (asks) => ({ config: asks.config === null ? null : {} }),
  usable: (grants, imports) => ({ config: imports.has('config_get') ? grants.config : null }),
  terms: () => [],
  form: CONFIG_FORM,
  sentence: 'One configuration value.',
  parseGrant: (value) => {
    const [, key, text = ''] = /^([^=]*)=(.*)$/s.exec(value) ?? [];
    if (key === undefined) return reject({ is: 'it has no "="', expected: CONFIG_FORM });
    if (!CONFIG_KEY.test(key)) return reject({ is: `its key is "${key}"`, expected: CONFIG_KEY_SHAPE });
    return accept({
      what: `config:${key}`,
      addTo: (grants) => ({ config: { ...grants.config, [key]: text } }),
    });
  },
  spellGrants: (grants) =>
    Object.entries(grants.config ?? {}).map(([key, value]) => `config:${key}=${value}`),
};
