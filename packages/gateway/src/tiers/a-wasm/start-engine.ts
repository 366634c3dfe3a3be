/** Starts engine processes: in the jail of tier C where the machine can, under the limits of tier B otherwise. */
import { CodedError } from '../../core/coded-error.ts';
import type { ProcessTierName } from '../../core/process.ts';
import type { HeldRun } from '../process/held-run.ts';
import type { EngineEnds } from './engine-process.ts';
import { engineTerms } from './engine-terms.ts';

export type StartEngineOptions = {
  readonly node: string;
  readonly memoryBytes: number;
  /** A new directory with the engine's file in it; it is removed when the engine has ended. */
  readonly makeWorkspace: () => { readonly path: string; readonly remove: () => void };
  /** Starts a command that stays in a tier, or refuses with what the tier lacks. */
  readonly hold: (tier: ProcessTierName, terms: ReturnType<typeof engineTerms>) => Promise<HeldRun>;
};

export async function startEngine(options: StartEngineOptions): Promise<EngineEnds> {
  const { node, memoryBytes, makeWorkspace, hold } = options;
  const workspace = makeWorkspace();
  const terms = engineTerms({ node, workspace: workspace.path, memoryBytes });
  try {
    const held = await hold('c', terms).catch((error: unknown) => {
      // Boundary: only where tier C cannot be had at all; what failed once is not a reason for the weaker one.
      if (!(error instanceof CodedError) || error.code !== 'tier/unenforceable') throw error;
      return hold('b', terms);
    });
    void held.ended.then(workspace.remove);
    return held;
  } catch (error) {
    workspace.remove();
    throw error;
  }
}
