/** A package URL without what follows its version: what kind of package, its whole name, and which version. */
export type Purl = { readonly type: string; readonly name: string; readonly version: string | null };

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
  // The @ of a scope is written as %40, and by some as it is; it begins a part that others follow.
  const at = rest.search(/(?<=[^/])@|(?<=.)@(?=[^/]*$)/);
  const parts = decode(at > 0 ? rest.slice(0, at) : rest).split('/');
  const name = parts.filter((part) => part !== '').join('/');
  const version = at > 0 ? decode(rest.slice(at + 1)) : null;
  return type === '' || name === '' ? null : { type: type.toLowerCase(), name, version };
}

/** The ecosystem of a package, and the spelling in which its names are compared; null: OSV has none for it. */
export function ecosystemName({
  type,
}: Pick<Purl, 'type'>): { ecosystem: string; spell: (name: string) => string } | null {
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
