import { DEFAULT_LIMITS } from '../../../core/limits.ts';
import { specialRange } from '../../../egress/address.ts';
import { parseRule, type Rule } from '../../../egress/rule.ts';
import type { Manifest, ManifestTool } from '../../manifest/manifest.ts';
import { compareVersions, parseVersion } from '../../semver.ts';
import { type AuditCheck, each, ifAny, note, refusal, type Sighting, warning } from '../check.ts';
import type { ModuleSubject } from '../module/module-subject.ts';
import { count, list, shorten } from '../module/words.ts';

/** The manifest, looked at for one of its keys. */
const manifestAt = (key: string) => each(({ pkg }) => [[`skill.toml ${key}`, pkg.manifest] as const]);
const ofSecrets = manifestAt('capabilities.secrets');
const ofAllowList = manifestAt('capabilities.http_egress_allowlist');

const WITHHOLD = 'Withhold it when you approve, unless you know why the skill needs it.';
const MANY_SECRETS = 8;
const MANY_HOSTS = 16;
const SHORT_DESCRIPTION = 12;
/** The functions of the ABI that leave something behind, and those that reach beyond the machine. */
const WRITES = /^(?:storage_put|storage_delete|channel_publish|put|delete|publish)$/;
const REACHING: readonly (string | null)[] = ['http', 'secret', 'channel'];
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|lan|home|intranet|corp)$/;

export const MANIFEST_CHECKS: readonly AuditCheck[] = [
  refusal('manifest/incompatible', {
    sentence: 'A skill that requires a newer version of palisade.',
    remedy: 'Update palisade, or install an older version of the skill.',
    look: ({ pkg: { manifest }, bench: { palisade } }) => {
      const least = manifest.compat.palisadeMin;
      if (least === null || parseVersion(least) === null || parseVersion(palisade) === null) return [];
      if (compareVersions(least, palisade) <= 0) return [];
      const what = `It requires palisade ${least} or newer, but this is ${palisade}.`;
      return [{ where: 'skill.toml compat.palisade_min', what }];
    },
  }),
  warning('manifest/wildcard-host', {
    sentence: 'An allow-list entry that covers more than one host.',
    look: eachRule(({ place }) => {
      const isRange = place.kind === 'range' && place.range.first !== place.range.last;
      return place.kind === 'below' || isRange ? 'covers hosts that it does not name' : null;
    }),
  }),
  warning('manifest/inside-host', {
    sentence: 'An allow-list entry for this machine, its local network or a metadata service.',
    look: eachRule((rule) => {
      const { place } = rule;
      if (place.kind === 'name') return LOCAL_NAME.test(place.name) ? 'is a name on a local network' : null;
      const special = place.kind === 'below' ? null : specialRangeOf(rule);
      return special === null ? null : `is ${special.sentence}`;
    }),
  }),
  warning('manifest/bare-address', {
    sentence: 'An allow-list entry that is a public IP address instead of a name.',
    look: eachRule((rule) =>
      rule.place.kind === 'range' && specialRangeOf(rule) === null
        ? 'is a bare IP address, which does not tell who owns it'
        : null,
    ),
  }),
  note('manifest/clear-text', {
    sentence: 'An allow-list entry that permits unencrypted requests.',
    look: eachRule(({ ports, scheme }) => {
      const isPlain = scheme === 'http' || (scheme === null && ports?.includes(80) === true);
      return isPlain ? 'allows plain HTTP' : null;
    }),
  }),
  warning('manifest/many-hosts', {
    sentence: 'An allow-list that is too long to review.',
    remedy: 'Withhold the entries that it does not need.',
    look: ofAllowList(({ asks: { http } }) =>
      http.length > MANY_HOSTS ? `It has ${http.length} entries.` : null,
    ),
  }),
  note('manifest/unused-opt-in', {
    sentence: 'A wildcard permission that is not used.',
    remedy: 'Review the allow-list again when the skill is updated.',
    look: manifestAt('capabilities.allow_wildcards')(({ asks }) => {
      const isUsed = asks.http.some((entry) => isWide(entry)) || wholeRoots(asks).length > 0;
      return asks.allowWildcards && !isUsed
        ? 'It sets allow_wildcards and uses none: the next version could add one unnoticed.'
        : null;
    }),
  }),
  warning('manifest/whole-storage', {
    sentence: 'Access to the whole storage of the skill instead of a prefix.',
    remedy: WITHHOLD,
    look: manifestAt('capabilities.filesystem')(({ asks }) =>
      wholeRoots(asks).map((use) => `It asks to ${use} every key.`),
    ),
  }),
  warning('manifest/many-secrets', {
    sentence: `More than ${MANY_SECRETS} secrets, or all of them.`,
    remedy: WITHHOLD,
    look: ofSecrets(({ asks }) => {
      const names = asks.secrets.map(({ name }) => name);
      if (names.length <= MANY_SECRETS && !names.some((name) => name.includes('*'))) return null;
      return `It asks for ${count(names.length, 'secret')}: ${list(names.map(shorten))}.`;
    }),
  }),
  warning('manifest/reveal', {
    sentence: 'A secret that the skill can read, not only send.',
    look: ofSecrets(({ asks }) =>
      asks.secrets
        .filter(({ mayReveal }) => mayReveal)
        .map(({ name }) => ({
          what: `It asks to read the secret "${shorten(name)}": it can include the value in its output.`,
          remedy: `Withhold it with reveal=${shorten(name)}; a secret that is only sent never leaves the gateway.`,
        })),
    ),
  }),
  warning('manifest/wide-secret', {
    sentence: 'A secret that may be sent to hosts that are not named one by one.',
    remedy: WITHHOLD,
    look: ofSecrets(({ asks }) =>
      asks.secrets
        .filter(({ hosts }) => hosts.some((host) => /[*/]/.test(host)))
        .map(
          ({ name }) => `The secret "${shorten(name)}" may be sent to hosts that are not named one by one.`,
        ),
    ),
  }),
  note('manifest/shared-secret', {
    sentence: 'A secret of the global scope, which all tenants share.',
    remedy: 'Give the skill a secret of its own where possible.',
    look: ofSecrets(({ asks }) =>
      ifAny(
        asks.secrets.filter(({ scope }) => scope === 'global').map(({ name }) => shorten(name)),
        (shared) => `It asks for ${list(shared)} of the global scope, which all tenants share.`,
      ),
    ),
  }),
  warning('manifest/low-risk', {
    sentence: 'A module that uses hosts, secrets or channels while all of its tools declare a low risk.',
    remedy: 'Have the author declare medium or high, or require approval of its calls with a policy.',
    look: eachContradiction('declare a low risk', {
      denies: ({ risk }) => risk === 'low',
      isUse: ({ need }) => REACHING.includes(need),
    }),
  }),
  warning('manifest/read-only-writes', {
    sentence: 'A module that can write while all of its tools are annotated as read-only.',
    remedy: 'Withhold storage:write or the channel, or have the author remove the annotation.',
    look: eachContradiction('are annotated as read-only', {
      denies: ({ annotations }) => annotations.readOnly,
      isUse: ({ name, need }) => need !== null && WRITES.test(name),
    }),
  }),
  warning('manifest/closed-world', {
    sentence: 'A module that makes requests while all of its tools are annotated as closed-world.',
    remedy: 'Have the author correct the annotation; models choose tools by it.',
    look: eachContradiction('are annotated as closed-world', {
      denies: ({ annotations }) => !annotations.openWorld,
      isUse: ({ need }) => need === 'http',
    }),
  }),
  warning('manifest/empty-description', {
    sentence: 'A description that adds nothing to the name.',
    remedy: 'Have the author describe in a sentence what it does.',
    look: ({ pkg: { manifest } }) =>
      [
        { ...manifest, where: 'skill.toml description' },
        ...manifest.tools.map((tool) => ({ ...tool, where: `the tool "${tool.id}", description` })),
      ].flatMap(({ where, name, id, description }) => {
        const isSame = [name, id].some((each) => lettersOf(each) === lettersOf(description));
        const isEmpty = isSame || description.trim().length < SHORT_DESCRIPTION;
        return isEmpty ? [{ where, what: 'It does not say what the tool does.' }] : [];
      }),
  }),
  warning('manifest/same-words', {
    sentence: 'Two tools with the same name or description, which a model cannot tell apart.',
    remedy: 'Have the author make them distinguishable.',
    look: ({ pkg: { manifest } }) => [...twins(manifest, 'name'), ...twins(manifest, 'description')],
  }),
  note('manifest/large-quota', {
    sentence: 'A quota above the default limits of a call.',
    remedy: 'Approve it with lower limits if that is too much.',
    look: manifestAt('capabilities.quotas')(({ quotas }) =>
      (['wallMs', 'fuel', 'memoryBytes'] as const)
        .filter((term) => (quotas[term] ?? 0) > DEFAULT_LIMITS[term])
        .map((term) => `It asks for ${quotas[term]} (${term}); the default is ${DEFAULT_LIMITS[term]}.`),
    ),
  }),
];

function eachRule(look: (rule: Rule) => string | null): AuditCheck['look'] {
  return ofAllowList(({ asks }) =>
    asks.http.flatMap((entry) => {
      const rule = parseRule(entry);
      const is = rule.ok ? look(rule.value) : null;
      if (is === null) return [];
      const what = `The entry "${shorten(entry)}" ${is}.`;
      const remedy = `Withhold it with http=${shorten(entry)}, or ask the author to list the hosts by name.`;
      return [{ what, remedy }];
    }),
  );
}

function isWide(entry: string): boolean {
  const rule = parseRule(entry);
  return rule.ok && rule.value.place.kind !== 'name';
}

function specialRangeOf({ place }: Rule): ReturnType<typeof specialRange> {
  if (place.kind !== 'range') return null;
  return specialRange({ family: place.range.family, value: place.range.first }, []);
}

type Contradiction = {
  readonly denies: (tool: ManifestTool) => boolean;
  readonly isUse: (each: ModuleSubject['imports'][number]) => boolean;
};

/** Modules whose imports contradict the declarations of all their tools: one tool that declares it is enough. */
function eachContradiction(claim: string, { denies, isUse }: Contradiction): AuditCheck['look'] {
  const eachDenying = each(({ modules }) =>
    modules.filter(({ tools }) => tools.every(denies)).map(({ path, imports }) => [path, imports] as const),
  );
  return eachDenying((imports) =>
    ifAny(
      imports.filter(isUse).map(({ name }) => shorten(name)),
      (used) => `Its tools ${claim}, but it imports ${list(used)}.`,
    ),
  );
}

function wholeRoots({ storage }: Manifest['asks']): readonly string[] {
  return (['read', 'write'] as const).filter((use) => storage[use].some((root) => /^\/?$/.test(root)));
}

function twins({ tools }: Manifest, key: 'name' | 'description'): readonly Sighting[] {
  const first = new Map<string, string>();
  return tools.flatMap((tool) => {
    const text = lettersOf(tool[key]);
    const other = first.get(text);
    if (other === undefined) first.set(text, tool.id);
    if (other === undefined) return [];
    return [{ where: `the tool "${tool.id}"`, what: `It has the same ${key} as the tool "${other}".` }];
  });
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
