import { CodedError } from '../../../core/coded-error.ts';
import { inert } from '../../../core/hostile-text.ts';
import { type Problem, sentenceOf } from '../../../core/result.ts';
import type { GrantKind } from '../../../core/wasm.ts';
import { parseCases } from '../../../skills/audit/cases.ts';
import { declaredNeeds, keyOf, unusedNeeds } from '../../../skills/audit/checks/modules.table.ts';
import { moduleSubjects } from '../../../skills/audit/module/module-subject.ts';
import { slipsIn } from '../../../skills/audit/schema-slips.ts';
import { isGrantKind } from '../../../skills/capabilities/kinds.ts';
import { parseFixtures } from '../../../skills/http-fixtures.ts';
import type { Manifest } from '../../../skills/manifest/manifest.ts';
import { parseManifest } from '../../../skills/manifest/parse-manifest.ts';
import { readProse } from '../../../skills/manifest/prose.ts';
import { type Entries, FIXTURES_FILE, PACKAGE_FILES } from '../../../skills/package/skill-package.ts';
import type { SourceProblem } from '../printer.ts';
import { manifestBytes, packedPaths, readEntry, readFolderFile } from './folder.ts';

/** How a module begins in its binary form. */
const MAGIC = Buffer.from('\0asm', 'latin1');

type FolderProblem = Required<SourceProblem>;

/**
 * Every problem that prevents packing and testing a folder, as far as it shows without running anything; warnings name
 * what is not built yet. The manifest is null where it cannot be read.
 */
export async function checkFolder(folder: string) {
  const parsed = parseManifest(manifestBytes(folder), (path) => readFolderFile(folder, path));
  if (!parsed.ok) {
    const { manifest: file } = PACKAGE_FILES;
    const found = parsed.problem.map((problem) => ({
      file,
      ...problem.position,
      message: sentenceOf(problem),
      hint: problem.hint ?? null,
    }));
    return { manifest: null, problems: [...found, ...proseProblems(folder)], warnings: [] };
  }
  const manifest = parsed.value;
  const files = readFiles(folder, manifest);
  const schemas = await judgeSchemas(manifest);
  const imports = await judgeImports(files.entries, manifest);
  const problems = [
    ...proseProblems(folder),
    ...files.problems,
    ...schemas.problems,
    ...caseProblems(files.entries, manifest),
    ...fixtureProblems(files.entries),
    ...moduleProblems(files.entries),
    ...imports.problems,
  ];
  return { manifest, problems, warnings: [...files.warnings, ...schemas.warnings, ...imports.warnings] };
}

function proseProblems(folder: string): readonly FolderProblem[] {
  const { prose: file } = PACKAGE_FILES;
  const bytes = readFolderFile(folder, file);
  if (bytes === null) return [whole(file, `Cannot find "${file}": no such file`, null)];
  const prose = readProse(bytes);
  if (prose.ok) return [];
  const { line, what: message } = prose.problem;
  return [{ file, line, column: 1, message, hint: null }];
}

/** Every file that would be packed; a module that is not built yet is only a warning. */
function readFiles(folder: string, manifest: Manifest) {
  const [problems, warnings]: [FolderProblem[], FolderProblem[]] = [[], []];
  const entries = new Map<string, Uint8Array>();
  const built = new Set(manifest.build?.modules.map(({ module }) => module));
  for (const path of packedPaths(folder, manifest)) {
    // Its absence was reported already.
    if (path === PACKAGE_FILES.prose && readFolderFile(folder, path) === null) continue;
    const isMissing = built.has(path) && readFolderFile(folder, path) === null;
    try {
      entries.set(path, readEntry(folder, path, manifest));
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      (isMissing ? warnings : problems).push(whole(path, error.message, error.remedy));
    }
  }
  return { entries, problems, warnings };
}

type Judged = { readonly problems: readonly FolderProblem[]; readonly warnings: readonly FolderProblem[] };

async function judgeSchemas({ tools }: Manifest): Promise<Judged> {
  const { Schemas } = await import('../../../registry/schema.ts');
  const schemas = new Schemas();
  const [problems, warnings]: [FolderProblem[], FolderProblem[]] = [[], []];
  for (const { id, inputSchema, outputSchema } of tools) {
    for (const [key, schema] of Object.entries({ input_schema: inputSchema, output_schema: outputSchema })) {
      const subject = `${key} of the tool "${id}"`;
      const why = schemas.problemOf(schema);
      const message = `Cannot use ${subject}: it is not a valid JSON Schema 2020-12 (${why})`;
      if (why !== null) problems.push(whole(PACKAGE_FILES.manifest, message, null));
      for (const slip of slipsIn(schema))
        warnings.push(whole(PACKAGE_FILES.manifest, `In ${subject}, ${slip}`, null));
    }
  }
  return { problems, warnings };
}

/** How a request is written, as an author would begin it. */
const REQUESTS: Readonly<Record<GrantKind, string>> = {
  http: '`http_egress_allowlist = ["api.example.com:443"]` under [capabilities]',
  secret: '`scope = "skill"`, `keys = ["api_token"]` and `use = "reveal"` under [[capabilities.secrets]]',
  storage: '`read_roots = ["notes/"]` and `write_roots = ["notes/"]` under [capabilities.filesystem]',
  channel: '`name = "news"` and `publish = true` or `receive = true` under [[capabilities.channels]]',
  log: '`log = true` under [capabilities]',
  clock: '`clock = true` under [capabilities]',
  random: '`random = true` under [capabilities]',
  config: '`config = ["unit"]` under [capabilities]',
};

/** What the modules import and the manifest does not request, which no call would start with; and the reverse. */
async function judgeImports(entries: Entries, manifest: Manifest): Promise<Judged> {
  const { MODULE_BENCH } = await import('../../../invoke/skills/examine.ts');
  const isPresent = manifest.tools.every(({ module }) => isModule(entries.get(module)));
  const modules = moduleSubjects({ manifest, entries }, MODULE_BENCH);
  const declared = declaredNeeds(manifest.asks);
  const problems = modules.flatMap(({ path, imports }) =>
    imports.flatMap(({ module, name, need, misfit }) => {
      const subject = `Cannot use "${path}": it imports ${inert(`${module}.${name}`)}`;
      if (misfit !== null)
        return [whole(path, `${subject} ${inert(misfit)}`, 'Build it for the ABI of docs/abi.md.')];
      if (need === null || declared.has(need)) return [];
      const how = isGrantKind(need) ? REQUESTS[need] : keyOf(need);
      const hint = `Request it with ${how} in skill.toml, or build the module without the import.`;
      return [whole(path, `${subject}, and skill.toml does not request ${need}`, hint)];
    }),
  );
  // What a module that is not built yet uses is unknown.
  const unused = isPresent ? unusedNeeds(manifest.asks, modules) : [];
  const text = Buffer.from(entries.get(PACKAGE_FILES.manifest) ?? []).toString('utf8');
  const warnings = unused.map((need) => ({
    ...whole(PACKAGE_FILES.manifest, `It requests ${need}, and none of its modules imports it`, null),
    ...placeOf(text, keyOf(need)),
    hint: `Remove ${keyOf(need)}, or use it.`,
  }));
  return { problems: firstOfEach(problems), warnings };
}

function isModule(bytes: Uint8Array | undefined): boolean {
  return bytes !== undefined && MAGIC.equals(bytes.subarray(0, MAGIC.length));
}

/** Several functions of one capability are one mistake of its author. */
function firstOfEach(problems: readonly FolderProblem[]): readonly FolderProblem[] {
  const seen = new Set<string>();
  return problems.filter(({ file, message, hint }) => {
    const key = `${file} ${hint?.startsWith('Request') ? hint : message}`;
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

/** Where the manifest requests a capability: its key, or the table of it. */
function placeOf(manifest: string, key: string): Pick<FolderProblem, 'line' | 'column'> {
  const name = key.slice(key.indexOf('.') + 1);
  const lines = manifest.split('\n');
  const at = lines.findIndex((line) =>
    new RegExp(`^\\s*(?:\\[+capabilities\\.${name}|${name}\\b)`).test(line),
  );
  return at < 0 ? { line: null, column: null } : { line: at + 1, column: 1 };
}

function caseProblems(entries: Entries, manifest: Manifest): readonly FolderProblem[] {
  const parsed = parseCases(entries, manifest);
  return parsed.ok ? [] : [problemIn(parsed.problem.file, parsed.problem)];
}

function fixtureProblems(entries: Entries): readonly FolderProblem[] {
  const parsed = parseFixtures(entries);
  return parsed.ok ? [] : [problemIn(FIXTURES_FILE, parsed.problem)];
}

function problemIn(file: string, problem: Problem): FolderProblem {
  const { position = { line: null, column: null }, hint = null } = problem;
  return { file, ...position, message: sentenceOf(problem), hint };
}

/** What packing would refuse; whether a module is valid is for the audit to find. */
function moduleProblems(entries: Entries): readonly FolderProblem[] {
  return [...entries].flatMap(([path, bytes]) => {
    if (!path.endsWith('.wasm') || isModule(bytes)) return [];
    const message = `Cannot use "${path}": it is not a WebAssembly binary`;
    return [whole(path, message, 'Build it with `palisade skill build`.')];
  });
}

function whole(file: string, message: string, hint: string | null): FolderProblem {
  return { file, line: null, column: null, message, hint };
}
