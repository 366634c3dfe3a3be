import { completionScript } from '../completion.ts';
import { wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

export async function run({ args, print }: Invocation): Promise<number> {
  const script = completionScript(args[0] ?? '');
  if (script === null) throw wrongUsage(`Cannot complete for "${args[0]}": expected bash, zsh or fish`);
  if (print.json) print.document({ shell: args[0], script });
  else await print.exact(script);
  return 0;
}
