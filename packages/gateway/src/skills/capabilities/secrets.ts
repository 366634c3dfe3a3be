import { quote } from '../../core/hostile-text.ts';
import { anyText, ifPresent, list, object } from '../../core/json-shape.ts';
import { accept, reject } from '../../core/result.ts';
import * as shape from '../../core/shape.ts';
import type { AskedSecret, SecretGrant, SecretScope } from '../../core/wasm.ts';
import { type Checked, listIn, tablesIn, textIn, textOf, textsIn } from '../manifest/checked.ts';
import { choice, MOST_ASKED, tables, texts, within } from '../manifest/key-rows.ts';
import { misfitIn } from '../manifest/texts.table.ts';
import { type AskRow, type Capability, type CheckContext, parseNameAndMode, report } from './capability.ts';
import { entriesFor, reportWild, rulesOf } from './http.ts';

const MOST_SECRETS = 64;
const SCOPES = ['global', 'tenant', 'principal', 'skill'] as const satisfies readonly SecretScope[];
const scope = shape.choice(SCOPES);
const SECRET_GRANT = shape.table({
  name: shape.required(anyText),
  mayReveal: shape.required(shape.flag),
  hosts: shape.required(list(anyText)),
  scope: ifPresent(scope),
}) as shape.Shape<SecretGrant>;

/** One secret, to be put into headers of requests or, where granted, read. */
export const secrets: Capability = {
  kind: 'secret',
  isReaching: true,
  manifestKey: 'secrets',
  keys: within(tables('secrets[]', 0, MOST_ASKED, 'Secrets of one scope and one use.'), [
    choice('scope', SCOPES, 'skill', 'The one scope of the vault in which they are looked up.'),
    {
      ...texts('keys', 'capability-name', ['api_token'], 'Their names, each once in the whole manifest.'),
      min: 1,
      isRequired: true,
      default: null,
    },
    choice(
      'use',
      ['send', 'reveal'],
      'send',
      'Whether they are only put into requests, or the skill reads them as well.',
    ),
    texts(
      'hosts',
      'secret-host',
      ['api.example.com'],
      'The only hosts that get them; without a port, only port 443. Required for "send".',
    ),
  ]),
  check: checkSecrets,
  readAsks: (asks) => ({ secrets: tablesIn(asks, 'secrets').flatMap(readSecrets) }),
  shapes: {
    asks: { secrets: list(object({ name: anyText, scope, mayReveal: shape.flag, hosts: list(anyText) })) },
    grants: { secrets: list(SECRET_GRANT) },
  },

  describe: (asks) => asks.secrets.flatMap(describeSecret),
  withholdings: (asks) => asks.secrets.map(({ name }) => `secret=${name}`),
  grantAll: ({ secrets }) => ({ secrets }),
  withhold: (grants, word) => ({
    secrets: grants.secrets.map((secret) => {
      if (word === `secret=${secret.name}`) return closed(secret);
      return word === `reveal=${secret.name}` ? { ...secret, mayReveal: false } : secret;
    }),
  }),
  usable: (grants, imports) => ({
    secrets: grants.secrets.map((secret) => ({
      ...secret,
      mayReveal: secret.mayReveal && imports.has('secret_read'),
      hosts: imports.has('http_request') ? secret.hosts : [],
    })),
  }),
  openOnly: (grants) => ({
    secrets: grants.secrets.filter(({ mayReveal, hosts }) => mayReveal || hosts.length > 0),
  }),
  terms: (grants) =>
    grants.secrets.flatMap(({ name, scope = 'any', hosts, mayReveal }) => [
      ...hosts.map((host) => `secret=${name}@${host} (${scope})`),
      ...(mayReveal ? [`reveal=${name} (${scope})`] : []),
    ]),

  form: 'secret=NAME[:reveal][@HOST,…]',
  sentence:
    'A secret of the vault, inserted into headers of requests to these hosts only, as in `secret=github@api.github.com`; without a port only port 443. With `:reveal` the module may read it, with or without hosts.',
  parseGrant: (value) => {
    const [, word = '', list] = /^([^@]*)(?:@(.*))?$/s.exec(value) ?? [];
    const named = parseNameAndMode(word, ['reveal']);
    if (!named.ok) return named;
    const { name, mode } = named.value;
    const hosts = list?.split(',') ?? [];
    const misfit = hosts.map((host) => misfitIn('secret-host', host)).find((each) => each !== null);
    if (misfit !== undefined) return reject(misfit);
    // A grant that has no effect is a mistake of its author.
    if (hosts.length === 0 && mode === null)
      return reject({ is: 'it names no host', expected: `secret=${name}@HOST, or secret=${name}:reveal` });
    const secret = { name, mayReveal: mode === 'reveal', hosts };
    return accept({
      what: `secret ${name}`,
      addTo: (grants) => ({ secrets: [...grants.secrets, secret] }),
    });
  },
  spellGrants: (grants) =>
    grants.secrets.map(({ name, mayReveal, hosts }) => {
      const at = hosts.length === 0 ? '' : `@${hosts.join()}`;
      return `secret=${name}${mayReveal ? ':reveal' : ''}${at}`;
    }),
};

function closed(secret: SecretGrant): SecretGrant {
  return { ...secret, mayReveal: false, hosts: [] };
}

/** Each name is a capability of its own. */
function readSecrets(secret: Checked): readonly AskedSecret[] {
  return listIn(secret, 'keys').map((name) => ({
    name,
    scope: textOf(secret, 'scope') as SecretScope,
    mayReveal: textOf(secret, 'use') === 'reveal',
    hosts: listIn(secret, 'hosts'),
  }));
}

function describeSecret({ name, scope, mayReveal, hosts }: AskedSecret): readonly AskRow[] {
  const which = `the secret "${name}" of the scope ${scope}`;
  const send: AskRow = {
    spelling: `secret=${name}`,
    sentence: `sends ${which} to ${hosts.join(', ')}${mayReveal ? '' : ', without seeing it'}`,
    terms: hosts.map((host) => `secret=${name}@${host} (${scope})`),
  };
  const reveal: AskRow = {
    spelling: `reveal=${name}`,
    sentence: `reads ${which}`,
    terms: [`reveal=${name} (${scope})`],
  };
  return [...(hosts.length > 0 ? [send] : []), ...(mayReveal ? [reveal] : [])];
}

function checkSecrets(asks: Checked, context: CheckContext): void {
  const seen = new Set<string>();
  for (const [i, secret] of tablesIn(asks, 'secrets').entries()) {
    for (const [j, name] of (textsIn(secret, 'keys') ?? []).entries()) {
      if (name === null) continue;
      const path = ['secrets', i, 'keys', j];
      if (seen.has(name))
        report(context, path, { is: `${quote(name)} is asked for twice`, expected: 'each secret once' });
      seen.add(name);
      if (seen.size === MOST_SECRETS + 1) {
        const expected = `at most ${MOST_SECRETS} in the whole manifest`;
        report(context, path, { is: 'it is one secret more', expected });
      }
    }
    checkSecretHosts(secret, ['secrets', i, 'hosts'], textsIn(asks, 'http_egress_allowlist'), context);
  }
}

function checkSecretHosts(
  secret: Checked,
  path: readonly (string | number)[],
  allowed: readonly (string | null)[] | null,
  context: CheckContext,
): void {
  const hosts = textsIn(secret, 'hosts');
  if (hosts?.length === 0 && textIn(secret, 'use') === 'send') {
    const expected = 'hosts such as ["api.example.com"] for use = "send"';
    report(context, path, { is: 'it names no host', expected });
  }
  for (const [i, entry] of (hosts ?? []).entries()) {
    const [rule] = rulesOf([entry]);
    if (rule === undefined) continue;
    reportWild(rule, [...path, i], context);
    // An entry of the list that cannot be read may be the one that is meant.
    if (allowed === null || allowed.includes(null)) continue;
    // Boundary: a secret never goes where the skill does not say that it goes, nor where all can read it on its way.
    const { entries, mayCarry } = entriesFor(rule, rulesOf(allowed));
    if (entries.length === 0) {
      const is = `no entry of http_egress_allowlist lets ${quote(rule.entry)} be reached`;
      report(context, [...path, i], { is, expected: 'one that does; without a port that is 443' });
    } else if (!mayCarry) {
      const is = `${quote(rule.entry)} is reached by ${quote(entries[0]?.entry ?? '')} only, without encryption, and no secret is sent like that`;
      report(context, [...path, i], { is, expected: 'an entry of http_egress_allowlist for https' });
    }
  }
}
