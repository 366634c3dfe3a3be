import { CodedError } from '../../../core/coded-error.ts';
import { shellWord } from '../../../core/hostile-text.ts';
import type { ManifestBuild } from '../../../skills/manifest/manifest.ts';
import { principalOf } from '../input.ts';
import { finishUnread, withGateway } from '../opened.ts';
import { printError } from '../printer.ts';
import { BuildFailure, type BuiltModule, openBuilder } from '../skill/build-modules.ts';
import { folderOf, manifestOf } from '../skill/folder.ts';
import { printBuilt, printCompilerOutput } from '../skill/print-build.ts';
import type { Invocation } from '../verb.ts';

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
    printCompilerOutput(print, output);
    return printError(print, error, { callId, output });
  }
}

function buildAll(
  invocation: Invocation,
  folder: string,
  build: ManifestBuild,
): Promise<readonly BuiltModule[]> {
  const { print } = invocation;
  return withGateway(invocation, async (gateway) => {
    const builder = openBuilder({
      invocation,
      gateway,
      folder,
      build,
      isDebug: invocation.flags.debug === true,
    });
    try {
      const built: BuiltModule[] = [];
      for (const pair of build.modules) {
        if (!print.json) print.note('building', 'dim', `  ${pair.module} with ${builder.compiler}`);
        const done = await builder.build(pair);
        printBuilt(print, done);
        built.push(done);
      }
      return built;
    } finally {
      await builder.close();
    }
  });
}
