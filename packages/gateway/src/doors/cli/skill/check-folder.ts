import { CodedError } from '../../../core/coded-error.ts';
import { type Problem, sentenceOf } from '../../../core/result.ts';
import { parseCases } from '../../../skills/audit/cases.ts';
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
  const problems = [
    ...proseProblems(folder),
    ...files.problems,
    ...(await schemaProblems(manifest)),
    ...caseProblems(files.entries, manifest),
    ...fixtureProblems(files.entries),
    ...moduleProblems(files.entries),
  ];
  return { manifest, problems, warnings: files.warnings };
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

async function schemaProblems({ tools }: Manifest): Promise<readonly FolderProblem[]> {
  const { Schemas } = await import('../../../registry/schema.ts');
  const schemas = new Schemas();
  return tools.flatMap(({ id, inputSchema, outputSchema }) => {
    const rows = Object.entries({ input_schema: inputSchema, output_schema: outputSchema });
    return rows.flatMap(([key, schema]) => {
      try {
        schemas.compile(schema);
        return [];
      } catch (error) {
        const why = `it is not a valid JSON Schema 2020-12 (${(error as Error).message})`;
        return [whole(PACKAGE_FILES.manifest, `Cannot use ${key} of the tool "${id}": ${why}`, null)];
      }
    });
  });
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
    if (!path.endsWith('.wasm') || MAGIC.equals(bytes.subarray(0, MAGIC.length))) return [];
    const message = `Cannot use "${path}": it is not a WebAssembly binary`;
    return [whole(path, message, 'Build it with `palisade skill build`.')];
  });
}

function whole(file: string, message: string, hint: string | null): FolderProblem {
  return { file, line: null, column: null, message, hint };
}
