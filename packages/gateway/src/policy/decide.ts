import type { Digest } from '../core/digest.ts';
import type { PolicyEngine } from './engine.ts';
import type { Reads } from './reads.ts';
import type { Question } from './request.ts';

/** What Cedar said, under which set. Anything but `allow` denies. */
export type Ruling = {
  readonly verdict: 'allow' | 'deny' | 'error';
  readonly decidedBy: readonly string[];
  /** Null when no set is loaded. */
  readonly setDigest: Digest | null;
  readonly errors: readonly { readonly policy: string | null; readonly message: string }[];
};

/** Asks the live set once, told what it reads of a call of that tool. A question that cannot even be put is an error, which denies. */
export function decide(
  engine: PolicyEngine,
  write: (reads: Reads) => Question,
  toolId: string | null = null,
): Ruling {
  const { setDigest } = engine;
  if (setDigest === null) {
    return {
      verdict: 'error',
      decidedBy: [],
      setDigest,
      errors: [{ policy: null, message: 'no policy set is loaded' }],
    };
  }
  try {
    const { verdict, decidedBy, errors } = engine.ask(
      write(toolId === null ? engine.reads : engine.readsFor(toolId)),
    );
    return { verdict, decidedBy, setDigest, errors };
  } catch (error) {
    return {
      verdict: 'error',
      decidedBy: [],
      setDigest,
      errors: [{ policy: null, message: messageOf(error) }],
    };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
