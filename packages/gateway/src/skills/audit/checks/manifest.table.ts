import { DEFAULT_LIMITS } from '../../../core/limits.ts';
import { parseRule, type Rule } from '../../../egress/rule.ts';
import { specialRange } from '../../../egress/special.ts';
import type { Manifest } from '../../manifest/manifest.ts';
import { compareVersions, parseVersion } from '../../semver.ts';
import type { AuditCheck, AuditSubject, Sighting } from '../check.ts';
import type { ModuleSubject } from '../module/module-subject.ts';
import { count, list, shorten } from '../module/words.ts';

const HTTP = 'skill.toml capabilities.http_egress_allowlist';
const SECRETS = 'skill.toml capabilities.secrets';
const FILESYSTEM = 'skill.toml capabilities.filesystem';
const WITHHOLD = 'Withhold it when you approve, unless you know why the skill needs it.';
const MANY_SECRETS = 8;
const MANY_HOSTS = 16;
const SHORT_DESCRIPTION = 12;
/** The functions of the ABI that leave something behind, and those that reach beyond the machine. */
const WRITES: readonly string[] = [
  'storage_put',
  'storage_delete',
  'channel_publish',
  'put',
  'delete',
  'publish',
];
const REACHING: readonly (string | null)[] = ['http', 'secret', 'channel'];

export const MANIFEST_CHECKS: readonly AuditCheck[] = [
  {
    id: 'manifest/incompatible',
    severity: 'refusal',
    sentence: 'A skill that requires a newer version of palisade.',
    look: ({ pkg: { manifest }, bench: { palisade } }) => {
      const { palisadeMin } = manifest.compat;
      if (palisadeMin === null || parseVersion(palisadeMin) === null || parseVersion(palisade) === null)
        return [];
      if (compareVersions(palisadeMin, palisade) <= 0) return [];
      const what = `It requires palisade ${palisadeMin} or newer, but this is ${palisade}.`;
      return [
        {
          where: 'skill.toml compat.palisade_min',
          what,
          remedy: 'Update palisade, or install an older version of the skill.',
        },
      ];
    },
  },
  {
    id: 'manifest/wildcard-host',
    severity: 'warning',
    sentence: 'An allow-list entry that covers more than one host.',
    look: (subject) =>
      eachRule(subject, ({ place }, entry) => {
        const isWide =
          place.kind === 'below' || (place.kind === 'range' && place.range.first !== place.range.last);
        return isWide ? `The entry "${shorten(entry)}" covers hosts that it does not name.` : null;
      }),
  },
  {
    id: 'manifest/inside-host',
    severity: 'warning',
    sentence: 'An allow-list entry for this machine, its local network or a metadata service.',
    look: (subject) =>
      eachRule(subject, ({ place }, entry) => {
        if (place.kind === 'name') {
          const isInside = /(?:^|\.)(?:localhost|local|internal|lan|home|intranet|corp)$/.test(place.name);
          return isInside ? `The entry "${shorten(entry)}" is a name on a local network.` : null;
        }
        if (place.kind === 'below') return null;
        const { family, first } = place.range;
        const special = specialRange({ family, value: first }, []);
        return special === null ? null : `The entry "${shorten(entry)}" is ${special.sentence}.`;
      }),
  },
  {
    id: 'manifest/bare-address',
    severity: 'warning',
    sentence: 'An allow-list entry that is a public IP address instead of a name.',
    look: (subject) =>
      eachRule(subject, ({ place }, entry) => {
        if (place.kind !== 'range') return null;
        const { family, first } = place.range;
        const isPublic = specialRange({ family, value: first }, []) === null;
        return isPublic
          ? `The entry "${shorten(entry)}" is a bare IP address, which does not tell who owns it.`
          : null;
      }),
  },
  {
    id: 'manifest/clear-text',
    severity: 'note',
    sentence: 'An allow-list entry that permits unencrypted requests.',
    look: (subject) =>
      eachRule(subject, ({ ports, scheme }, entry) =>
        scheme === 'http' || (scheme === null && ports?.includes(80) === true)
          ? `The entry "${shorten(entry)}" allows plain HTTP.`
          : null,
      ),
  },
  {
    id: 'manifest/many-hosts',
    severity: 'warning',
    sentence: 'An allow-list that is too long to review.',
    look: ({ pkg: { manifest } }) =>
      manifest.asks.http.length <= MANY_HOSTS
        ? []
        : [
            {
              where: HTTP,
              what: `It has ${manifest.asks.http.length} entries.`,
              remedy: 'Withhold the entries that it does not need.',
            },
          ],
  },
  {
    id: 'manifest/unused-opt-in',
    severity: 'note',
    sentence: 'A wildcard permission that is not used.',
    look: (subject) => {
      const { asks } = subject.pkg.manifest;
      const isUsed =
        rulesOf(subject).some(({ rule }) => rule.place.kind !== 'name') || wholeRoots(asks).length > 0;
      return !asks.allowWildcards || isUsed
        ? []
        : [
            {
              where: 'skill.toml capabilities.allow_wildcards',
              what: 'It sets allow_wildcards and uses none: the next version could add one unnoticed.',
              remedy: 'Review the allow-list again when the skill is updated.',
            },
          ];
    },
  },
  {
    id: 'manifest/whole-storage',
    severity: 'warning',
    sentence: 'Access to the whole storage of the skill instead of a prefix.',
    look: ({ pkg: { manifest } }) =>
      wholeRoots(manifest.asks).map((what) => ({
        where: FILESYSTEM,
        what: `It asks to ${what} every key.`,
        remedy: WITHHOLD,
      })),
  },
  {
    id: 'manifest/many-secrets',
    severity: 'warning',
    sentence: `More than ${MANY_SECRETS} secrets, or all of them.`,
    look: ({ pkg: { manifest } }) => {
      const names = manifest.asks.secrets.map(({ name }) => name);
      if (names.length <= MANY_SECRETS && !names.some((name) => name.includes('*'))) return [];
      return [
        {
          where: SECRETS,
          what: `It asks for ${count(names.length, 'secret')}: ${list(names.map(shorten))}.`,
          remedy: WITHHOLD,
        },
      ];
    },
  },
  {
    id: 'manifest/reveal',
    severity: 'warning',
    sentence: 'A secret that the skill can read, not only send.',
    look: ({ pkg: { manifest } }) =>
      manifest.asks.secrets
        .filter(({ mayReveal }) => mayReveal)
        .map(({ name }) => ({
          where: SECRETS,
          what: `It asks to read the secret "${shorten(name)}": it can include the value in its output.`,
          remedy: `Withhold it with reveal=${shorten(name)}; a secret that is only sent never leaves the gateway.`,
        })),
  },
  {
    id: 'manifest/wide-secret',
    severity: 'warning',
    sentence: 'A secret that may be sent to hosts that are not named one by one.',
    look: ({ pkg: { manifest } }) =>
      manifest.asks.secrets
        .filter(({ hosts }) => hosts.some((host) => host.includes('*') || host.includes('/')))
        .map(({ name }) => ({
          where: SECRETS,
          what: `The secret "${shorten(name)}" may be sent to hosts that are not named one by one.`,
          remedy: WITHHOLD,
        })),
  },
  {
    id: 'manifest/shared-secret',
    severity: 'note',
    sentence: 'A secret of the global scope, which all tenants share.',
    look: ({ pkg: { manifest } }) => {
      const shared = manifest.asks.secrets
        .filter(({ scope }) => scope === 'global')
        .map(({ name }) => shorten(name));
      if (shared.length === 0) return [];
      const what = `It asks for ${list(shared)} of the global scope, which all tenants share.`;
      return [{ where: SECRETS, what, remedy: 'Give the skill a secret of its own where possible.' }];
    },
  },
  {
    id: 'manifest/low-risk',
    severity: 'warning',
    sentence: 'A module that uses hosts, secrets or channels while all of its tools declare a low risk.',
    look: (subject) =>
      eachReach(
        subject,
        ({ imports }) => imports.filter(({ need }) => REACHING.includes(need)),
        ({ risk }) => risk === 'low',
        (names) => ({
          what: `Its tools declare a low risk, but it imports ${names}.`,
          remedy: 'Have the author declare medium or high, or require approval of its calls with a policy.',
        }),
      ),
  },
  {
    id: 'manifest/read-only-writes',
    severity: 'warning',
    sentence: 'A module that can write while all of its tools are annotated as read-only.',
    look: (subject) =>
      eachReach(
        subject,
        ({ imports }) => imports.filter(({ name, need }) => need !== null && WRITES.includes(name)),
        ({ annotations }) => annotations.readOnly,
        (names) => ({
          what: `Its tools are annotated as read-only, but it imports ${names}.`,
          remedy: 'Withhold storage:write or the channel, or have the author remove the annotation.',
        }),
      ),
  },
  {
    id: 'manifest/closed-world',
    severity: 'warning',
    sentence: 'A module that makes requests while all of its tools are annotated as closed-world.',
    look: (subject) =>
      eachReach(
        subject,
        ({ imports }) => imports.filter(({ need }) => need === 'http'),
        ({ annotations }) => !annotations.openWorld,
        (names) => ({
          what: `Its tools are annotated as closed-world, but it imports ${names}.`,
          remedy: 'Have the author correct the annotation; models choose tools by it.',
        }),
      ),
  },
  {
    id: 'manifest/empty-description',
    severity: 'warning',
    sentence: 'A description that adds nothing to the name.',
    look: ({ pkg: { manifest } }) =>
      [
        { ...manifest, where: 'skill.toml description' },
        ...manifest.tools.map((tool) => ({ ...tool, where: `the tool "${tool.id}", description` })),
      ].flatMap(({ where, name, id, description }) => {
        const isSame = [name, id].some((each) => lettersOf(each) === lettersOf(description));
        if (!isSame && description.trim().length >= SHORT_DESCRIPTION) return [];
        return [
          {
            where,
            what: 'It does not say what the tool does.',
            remedy: 'Have the author describe in a sentence what it does.',
          },
        ];
      }),
  },
  {
    id: 'manifest/same-words',
    severity: 'warning',
    sentence: 'Two tools with the same name or description, which a model cannot tell apart.',
    look: ({ pkg: { manifest } }) => [
      ...twins(manifest, ({ name }) => lettersOf(name), 'name'),
      ...twins(manifest, ({ description }) => lettersOf(description), 'description'),
    ],
  },
  {
    id: 'manifest/large-quota',
    severity: 'note',
    sentence: 'A quota above the default limits of a call.',
    look: ({ pkg: { manifest } }) =>
      (['wallMs', 'fuel', 'memoryBytes'] as const).flatMap((term) => {
        const asked = manifest.quotas[term];
        if (asked === null || asked <= DEFAULT_LIMITS[term]) return [];
        const what = `It asks for ${asked} (${term}); the default is ${DEFAULT_LIMITS[term]}.`;
        return [
          {
            where: 'skill.toml capabilities.quotas',
            what,
            remedy: 'Approve it with lower limits if that is too much.',
          },
        ];
      }),
  },
];

type Tool = Manifest['tools'][number];

function rulesOf({
  pkg: { manifest },
}: AuditSubject): readonly { readonly entry: string; readonly rule: Rule }[] {
  return manifest.asks.http.flatMap((entry) => {
    const parsed = parseRule(entry);
    return parsed.ok ? [{ entry, rule: parsed.value }] : [];
  });
}

function eachRule(
  subject: AuditSubject,
  look: (rule: Rule, entry: string) => string | null,
): readonly Sighting[] {
  return rulesOf(subject).flatMap(({ entry, rule }) => {
    const what = look(rule, entry);
    return what === null
      ? []
      : [
          {
            where: HTTP,
            what,
            remedy: `Withhold it with http=${shorten(entry)}, or ask the author to list the hosts by name.`,
          },
        ];
  });
}

/** Modules whose imports contradict the declarations of all their tools: one tool that declares it is enough. */
function eachReach(
  { modules }: AuditSubject,
  importsOf: (module: ModuleSubject) => ModuleSubject['imports'],
  denies: (tool: Tool) => boolean,
  seen: (names: string) => Omit<Sighting, 'where'>,
): readonly Sighting[] {
  return modules.flatMap((module) => {
    const found = importsOf(module);
    if (found.length === 0 || !module.tools.every(denies)) return [];
    return [{ where: module.path, ...seen(list(found.map(({ name }) => shorten(name)))) }];
  });
}

function wholeRoots({ storage }: Manifest['asks']): readonly string[] {
  const isWhole = (root: string) => root === '' || root === '/';
  return [...(storage.read.some(isWhole) ? ['read'] : []), ...(storage.write.some(isWhole) ? ['write'] : [])];
}

function twins({ tools }: Manifest, textOf: (tool: Tool) => string, what: string): readonly Sighting[] {
  const first = new Map<string, string>();
  return tools.flatMap((tool) => {
    const text = textOf(tool);
    const other = first.get(text);
    if (other === undefined) first.set(text, tool.id);
    if (other === undefined) return [];
    return [
      {
        where: `the tool "${tool.id}"`,
        what: `It has the same ${what} as the tool "${other}".`,
        remedy: 'Have the author make them distinguishable.',
      },
    ];
  });
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
