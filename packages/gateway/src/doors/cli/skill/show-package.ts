import type { Digest } from '../../../core/digest.ts';
import { spellAsks } from '../../../skills/capabilities/kinds.ts';
import type { Manifest } from '../../../skills/manifest/manifest.ts';
import type { SkillPackage } from '../../../skills/package/skill-package.ts';
import type { Printer } from '../printer.ts';
import type { PackageFile } from './package-file.ts';

type EntryRow = { readonly path: string; readonly bytes: number; readonly sha256: Digest | null };

/** The files of a package with their sizes and digests. */
export function entryRows({ entries, digests }: SkillPackage): readonly EntryRow[] {
  return [...entries].map(([path, bytes]) => ({
    path,
    bytes: bytes.length,
    sha256: digests.get(path) ?? null,
  }));
}

export function printEntries(print: Printer, pkg: SkillPackage): void {
  print.table(
    ['ENTRY', 'BYTES', 'SHA256'],
    entryRows(pkg).map(({ path, bytes, sha256 }) => [path, String(bytes), sha256 ?? '-']),
  );
}

/** What a package declares, and who signed it; whether that key is trusted is not checked. */
export function packageDocument({ name: file, bytes, pkg }: PackageFile) {
  const { artifact, manifest, signer } = pkg;
  const { asks, tools, build: _, ...said } = manifest;
  return {
    ...{ file, bytes: bytes.length, artifact },
    signer: signer === null ? null : { keyId: signer.keyId, createdAt: signer.createdAt },
    ...said,
    tools: tools.map((tool) => ({ ...tool, tool: `${manifest.id}.${tool.id}` })),
    asks,
    capabilities: spellAsks(manifest).map(({ spelling, sentence }) => ({ spelling, sentence })),
    entries: entryRows(pkg),
  };
}

export function printPackage(print: Printer, { name, bytes, pkg }: PackageFile): void {
  const { manifest, signer, artifact } = pkg;
  const row = (key: string, value: string) => print.styled('dim', key.padEnd(12), value);
  print.styled('bold', `${manifest.id} ${manifest.version}`, `  ${manifest.name}`);
  row('about', manifest.description);
  row('publisher', manifest.publisher);
  row('license', manifest.license ?? 'not given');
  if (manifest.homepage !== null) row('homepage', manifest.homepage);
  row('file', `${name}, ${bytes.length} bytes`);
  row('sha256', artifact);
  if (signer === null) row('signed', 'no');
  else {
    row('signed', `by ${signer.keyId}, over every byte; the key was created at ${signer.createdAt}`);
    row('trusted', 'not checked: compare the key with the publisher');
  }
  print.line();
  printTools(print, manifest);
  printAsks(print, manifest);
  print.line();
  printEntries(print, pkg);
}

function printTools(print: Printer, { id, tools }: Manifest): void {
  for (const tool of tools) {
    print.styled('bold', `${id}.${tool.id}`, `  ${tool.name}: ${tool.description}`);
    const { readOnly, destructive, idempotent, openWorld } = tool.annotations;
    const says = [
      readOnly ? 'only reads' : 'changes things',
      ...(destructive ? ['may destroy'] : []),
      ...(idempotent ? ['may be repeated'] : []),
      ...(openWorld ? ['reaches outside'] : []),
    ];
    print.line(
      `  risk ${tool.risk}, export ${tool.export} of ${tool.module}; declares that it ${says.join(', ')}`,
    );
  }
}

function printAsks(print: Printer, manifest: Manifest): void {
  const asks = spellAsks(manifest);
  print.line(asks.length === 0 ? 'It requests no capability.' : 'It requests:');
  for (const { spelling, sentence, isReaching } of asks)
    print.styled(isReaching ? 'yellow' : 'dim', `  ${spelling}`, `  ${sentence}`);
  const { wallMs, fuel, memoryBytes } = manifest.quotas;
  const quotas = [
    ...(wallMs === null ? [] : [`${wallMs} ms`]),
    ...(fuel === null ? [] : [`${fuel} fuel`]),
    ...(memoryBytes === null ? [] : [`${memoryBytes} bytes of memory`]),
  ];
  if (quotas.length > 0) print.line(`A call uses at most ${quotas.join(', ')}.`);
}
