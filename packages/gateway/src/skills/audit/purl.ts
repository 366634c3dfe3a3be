/** A package URL without its version and what follows: what kind of package, and its whole name. */
export type Purl = { readonly type: string; readonly name: string };

type Ecosystem = { readonly name: string; readonly spell?: (name: string) => string };

const lower = (name: string) => name.toLowerCase();

/** What OSV calls the ecosystem of a type, and how names are compared there. */
const ECOSYSTEMS: Readonly<Record<string, Ecosystem>> = {
  npm: { name: 'npm' },
  pypi: { name: 'PyPI', spell: (name) => lower(name).replace(/[-_.]+/g, '-') },
  cargo: { name: 'crates.io' },
  golang: { name: 'Go' },
  maven: { name: 'Maven', spell: (name) => name.replace('/', ':') },
  nuget: { name: 'NuGet', spell: lower },
  gem: { name: 'RubyGems' },
  composer: { name: 'Packagist', spell: lower },
  hex: { name: 'Hex' },
  pub: { name: 'Pub' },
  swift: { name: 'SwiftURL' },
  conan: { name: 'ConanCenter' },
};

/** Reads a package URL; null for what is none. */
export function parsePurl(text: string): Purl | null {
  const [, type = '', rest = ''] = /^pkg:\/{0,2}([A-Za-z0-9.+-]+)\/([^?#]+)/.exec(text.slice(0, 1024)) ?? [];
  // The @ of a scope is written as %40, and by some as it is.
  const at = rest.lastIndexOf('@');
  const name = decode(at > 0 ? rest.slice(0, at) : rest);
  return type === '' || name === '' ? null : { type: type.toLowerCase(), name };
}

/** The ecosystem of a package, and the spelling in which its names are compared; null: OSV has none for it. */
export function ecosystemName({ type }: Purl): { ecosystem: string; spell: (name: string) => string } | null {
  const row = Object.hasOwn(ECOSYSTEMS, type) ? ECOSYSTEMS[type] : undefined;
  return row === undefined ? null : { ecosystem: row.name, spell: row.spell ?? ((name) => name) };
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
