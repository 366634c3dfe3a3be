import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../config/load.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { digestBytes } from '../../../core/digest.ts';
import { shellWord } from '../../../core/hostile-text.ts';
import type { Outcome } from '../../../core/outcome.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { ForbiddenPlaces } from '../../../runner/forbidden.ts';
import type { ManifestBuild } from '../../../skills/manifest/manifest.ts';
import { principalOf } from '../input.ts';
import { callOf } from '../make-call.ts';
import { finishUnread } from '../opened.ts';
import { printError } from '../printer.ts';
import {
  BUILD_TOOL,
  buildTool,
  layOutWorld,
  makeScratchFolder,
  type ScratchFolder,
} from '../skill/build-tool.ts';
import { type FoundCompiler, findCompiler, showToJail } from '../skill/find-compiler.ts';
import { folderOf, manifestOf, readRegular, writeFolderFile } from '../skill/folder.ts';
import type { Invocation } from '../verb.ts';
import { outputOf, printWorkspace } from './exec.ts';

const UNFINISHED = 'module.wasm';

export async function build(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  // A wrong --as is reported before anything is read.
  principalOf(invocation);
  finishUnread(invocation);
  const folder = folderOf(invocation);
  const { id, build } = manifestOf(folder);
  if (build === null)
    throw new CodedError('skill/build-failed', 'Cannot build: skill.toml has no [build] section', {
      remedy:
        'Add the language and the modules under [build], or put the built modules into the folder yourself.',
    });
  try {
    const modules = await buildAll(invocation, folder, build);
    if (print.json) print.document({ ok: true, skill: id, language: build.language, modules });
    else print.next(['palisade skill test', ...invocation.args.map(shellWord)].join(' '));
    return 0;
  } catch (error) {
    if (!(error instanceof BuildFailure)) throw error;
    const { callId, output } = error;
    // The output is untrusted text: each line is indented, so that none looks like a line of palisade.
    for (const line of print.json ? [] : output.split(/\r?\n/))
      print.note(`  ${line.replaceAll('\t', '    ')}`);
    return printError(print, error, { callId, output });
  }
}

async function buildAll(
  invocation: Invocation,
  folder: string,
  { language, modules }: ManifestBuild,
): Promise<readonly BuiltModule[]> {
  const { print, edge, stateDir } = invocation;
  const config = await loadConfig({ stateDir: stateDir.path });
  const compiler = findCompiler(invocation, language, { folder, searchPath: config.process.searchPath });
  const scratch = makeScratchFolder(folder);
  const shown = showToJail(compiler, folder);
  const { found } = shown;
  try {
    const out = `${scratch.name}/${UNFINISHED}`;
    const forbidden = new ForbiddenPlaces({ stateDir: stateDir.path, home: edge.env.home });
    const argumentsFor = (module: string) => {
      const source = modules.find((each) => each.module === module)?.source;
      return source === undefined ? null : compilerArguments(found, scratch, { folder, source, out });
    };
    const tool = buildTool({ found, folder, config, clock: edge.clock, forbidden, argumentsFor });
    const gateway = await invocation.openGateway({ tools: [tool] });
    try {
      const built: BuiltModule[] = [];
      for (const pair of modules) {
        const job = { folder, pair, out, compiler: found.compiler.name };
        if (!print.json) print.note('building', 'dim', `  ${pair.module} with ${found.compiler.name}`);
        const done = await buildModule(invocation, gateway, job);
        const size = `${done.bytes} bytes  ${done.wallMs} ms`;
        print.styled('green', 'built', `  ${done.module} from ${done.source}  ${size}  ${done.callId}`);
        built.push(done);
      }
      return built;
    } finally {
      await gateway.close();
    }
  } finally {
    shown.remove();
    scratch.remove();
  }
}

type Paths = { readonly folder: string; readonly source: string; readonly out: string };

/** The arguments of the compiler for a module; the WIT world of a component is written on the way. */
function compilerArguments(found: FoundCompiler, scratch: ScratchFolder, { folder, source, out }: Paths) {
  const { compiler, guest, packages } = found;
  const wit = compiler.hasWorld ? layOutWorld(scratch, { folder, source, guest }) : '';
  return compiler.words({ source, out, guest, packages, wit });
}

type BuiltModule = Awaited<ReturnType<typeof buildModule>>;

class BuildFailure extends CodedError {
  readonly callId: string;
  readonly output: string;

  constructor(message: string, callId: string, outcome: Outcome) {
    super('skill/build-failed', message);
    this.callId = callId;
    const { stdout = '', stderr = '' } = outputOf(outcome);
    this.output = `${stdout.trim()}\n${stderr.trim()}`.trim();
  }
}

type BuildJob = Pick<Paths, 'folder' | 'out'> & {
  readonly pair: ManifestBuild['modules'][number];
  readonly compiler: string;
};

/** Builds one module by one call of the tool, and writes it to its path when it is complete. */
async function buildModule(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  { folder, pair, out, compiler }: BuildJob,
) {
  const principal = principalOf(invocation);
  const call = callOf(invocation, gateway, { principal, tool: BUILD_TOOL, rawInput: JSON.stringify(pair) });
  const { callId, outcome, usage } = await invoke(gateway, call, invocation.signal);
  // What a compiler leaves in the folder can be a trap for those who work there.
  if (!invocation.print.json) printWorkspace(invocation.print, outcome, false);
  requireOk(outcome, callId, `Cannot build "${pair.module}" from "${pair.source}": ${compiler}`);
  const path = join(folder, out);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined)
    throw new BuildFailure(`Cannot build "${pair.module}": the compiler wrote no module`, callId, outcome);
  const bytes = readRegular(path, pair.module);
  // Boundary: what was read is what is written, and a compiler that left a link does not choose where.
  writeFolderFile(folder, pair.module, bytes);
  const { findings = [] } = outputOf(outcome);
  const { wallMs } = usage;
  return { ...pair, bytes: bytes.length, sha256: digestBytes(bytes), callId, wallMs, findings };
}

/** A compiler that exits with an error is a failed build; a refusal of the line keeps its own message. */
function requireOk(outcome: Outcome, callId: string, what: string): void {
  if (outcome.status === 'ok') return;
  if (outcome.code !== 'tier/exited')
    throw new CodedError(outcome.code, outcome.message, { remedy: outcome.remedy });
  const { exitCode = null, signal = null } = outputOf(outcome);
  const how = signal === null ? `exited with status ${exitCode}` : `was killed by ${signal}`;
  throw new BuildFailure(`${what} ${how}, expected 0`, callId, outcome);
}
