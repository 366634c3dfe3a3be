import type { Advisory } from '../../advisories.ts';
import { bomComponents, checkBom } from '../../package/bom.ts';
import { checkProvenance } from '../../package/provenance.ts';
import { PACKAGE_FILES } from '../../package/skill-package.ts';
import { type Affecting, affects, byPackage, type Component } from '../affects.ts';
import {
  type AuditCheck,
  type AuditSubject,
  refusal,
  type Sighting,
  sightingsAt,
  warning,
} from '../check.ts';
import { shorten } from '../module/words.ts';

const PACK_ANEW = 'Have the author pack it again with `palisade skill pack`.';

export const BOM_CHECKS: readonly AuditCheck[] = [
  refusal('bom/differs', {
    sentence: 'A bill of materials that does not match the files of the package.',
    remedy: PACK_ANEW,
    look: ({ pkg }) => sightingsAt(PACKAGE_FILES.bom, checkBom(pkg)),
  }),
  refusal('bom/provenance-differs', {
    sentence: 'A provenance that does not match the files of the package.',
    remedy: PACK_ANEW,
    look: ({ pkg }) => sightingsAt(PACKAGE_FILES.provenance, checkProvenance(pkg)),
  }),
  refusal('bom/vulnerable', {
    sentence: 'A component version that is listed in an advisory of the operator.',
    look: (subject) => eachAffected(subject, ({ isSure }) => isSure),
  }),
  warning('bom/perhaps-vulnerable', {
    sentence: 'A component that matches an advisory by name and version, but does not name its ecosystem.',
    look: (subject) => eachAffected(subject, ({ isSure }) => !isSure),
  }),
];

function* eachAffected(
  { pkg, bench }: AuditSubject,
  isWanted: (affecting: Affecting) => boolean,
): Iterable<Sighting> {
  // A component that both name is one component.
  const all = [...bomComponents(pkg), ...pkg.manifest.components];
  const components = new Map(all.map((each) => [`${each.purl ?? each.name}@${each.version}`, each]));
  // Boundary: both lists can be long, and all pairs of them would take minutes.
  const advisoriesOf = byPackage(bench.advisories);
  for (const component of components.values()) {
    for (const advisory of advisoriesOf(component)) {
      const affecting = affects(advisory, component);
      if (affecting !== null && isWanted(affecting)) yield sight(component, advisory, affecting);
    }
  }
}

function sight({ name, version }: Component, advisory: Advisory, { fixed }: Affecting): Sighting {
  const { id, aliases, severity } = advisory;
  const also = aliases.length === 0 ? '' : ` (${shorten(aliases.join(', '))})`;
  const weight = severity === null ? '' : `, severity ${shorten(severity)}`;
  return {
    where: PACKAGE_FILES.bom,
    what: `${shorten(name)} ${shorten(version)} is affected by ${shorten(id)}${also}${weight}.`,
    remedy:
      fixed === null
        ? `Have the author replace ${shorten(name)}; no fixed version is known.`
        : `Have the author build it with ${shorten(name)} ${shorten(fixed)} or later.`,
  };
}
