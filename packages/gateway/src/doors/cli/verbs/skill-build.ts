import { loadConfig } from '../../../config/load.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { ManifestBuild } from '../../../skills/manifest/manifest.ts';
import { principalOf } from '../input.ts';
import { printError } from '../print-error.ts';
import type { Printer } from '../printer.ts';
import { shellWord } from '../shell-word.ts';
import { BuildFailure, type BuiltModule, buildModule } from '../skill/build-modules.ts';
import { buildTool } from '../skill/build-tool.ts';
import { type FoundCompiler, findCompiler } from '../skill/find-compiler.ts';
import { finishUnread } from '../skill/operate/act.ts';
import { layOutWorld, makeScratchFolder, type ScratchFolder } from '../skill/scratch-folder.ts';
import { showToJail } from '../skill/show-to-jail.ts';
import { folderOf, manifestOf } from '../skill/skill-folder.ts';
import type { Invocation } from '../verb.ts';

const UNFINISHED = 'module.wasm';

export async function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  // Who asks is wrong usage or not before anything is looked at.
  principalOf(invocation);
  finishUnread(invocation);
  const folder = folderOf(invocation);
  const { id, build } = manifestOf(folder);
  if (build === null) throw nothingToBuild();
  try {
    const modules = await buildAll(invocation, folder, build);
    if (print.json) print.document({ ok: true, skill: id, language: build.language, modules });
    else print.note('→', 'cyan', [' palisade skill test', ...invocation.args.map(shellWord)].join(' '));
    return 0;
  } catch (error) {
    if (!(error instanceof BuildFailure)) throw error;
    const { callId, output } = error;
    if (!print.json) tellOutput(print, output);
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
    const forbiddenPaths = { stateDir: stateDir.path, home: edge.env.home };
    const wordsFor = wordsOf({ folder, found, scratch, modules });
    const tool = buildTool({ found, folder, config, clock: edge.clock, forbiddenPaths, wordsFor });
    const gateway = await invocation.openGateway({ tools: [tool] });
    try {
      const built: BuiltModule[] = [];
      for (const pair of modules) {
        const job = { folder, pair, out, compiler: found.compiler.name };
        if (!print.json) print.note('building', 'dim', `  ${pair.module} with ${found.compiler.name}`);
        const done = await buildModule(invocation, gateway, job);
        if (!print.json) tellBuilt(print, done);
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

type Layout = {
  readonly folder: string;
  readonly found: FoundCompiler;
  readonly scratch: ScratchFolder;
  readonly modules: ManifestBuild['modules'];
};

/** The words of the compiler for each module; a component gets its world laid out on the way. */
function wordsOf({ folder, found, scratch, modules }: Layout): (module: string) => readonly string[] | null {
  const { compiler, guest, packages } = found;
  return (module) => {
    const pair = modules.find((each) => each.module === module);
    if (pair === undefined) return null;
    const { source } = pair;
    const wit = compiler.hasWorld ? layOutWorld(scratch, { folder, source, guest }) : '';
    return compiler.words({ source, out: `${scratch.name}/${UNFINISHED}`, guest, packages, wit });
  };
}

function tellBuilt(print: Printer, { module, source, bytes, wallMs, callId }: BuiltModule): void {
  print.styled('green', 'built', `  ${module} from ${source}  ${bytes} bytes  ${wallMs} ms  ${callId}`);
}

/** What a compiler says is a stranger's text: each line on its own, and none looks like ours. */
function tellOutput(print: Printer, output: string): void {
  for (const line of output.split(/\r?\n/)) print.note(`  ${line.replaceAll('\t', '    ')}`);
}

function nothingToBuild(): CodedError {
  return new CodedError('skill/build-failed', 'Cannot build: skill.toml has no [build], expected one', {
    remedy:
      'Name the language and the modules under [build], or put the built modules into the folder yourself.',
  });
}
