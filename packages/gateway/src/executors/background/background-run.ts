import type { ToolCall } from '../../core/call.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { PortForward } from '../../core/ports.ts';
import type { StdinWriter } from '../../tiers/child/child.ts';
import type { CallContext } from '../../tiers/tier.ts';
import { RunLog } from './run-log.ts';

/** Makes the call that runs the command, and resolves with how it ended. */
export type RunCommand = (call: ToolCall, context: CallContext) => Promise<Outcome>;

/** What is shown of a run, as it was requested. */
export type Shown = { readonly command: string; readonly ports: readonly PortForward[] };

/** How long a command may take to end after it was asked to. */
const GRACE_MS = 5_000;

/** One command in the background: a call of its own, from its start to its end, with the end of its output. */
export class BackgroundRun {
  readonly call: ToolCall;
  /** The command line, as it was requested. */
  readonly command: string;
  /** The ports of the host that lead to it while it runs. */
  readonly ports: readonly PortForward[];
  readonly log = new RunLog();
  /** Settles when the command runs in proved isolation. */
  readonly begun: Promise<void>;
  /** Settles when nothing of it runs any more and its receipt is written. */
  readonly ended: Promise<Outcome>;
  readonly #kill = new AbortController();
  #handle: StdinWriter | null = null;
  #outcome: Outcome | null = null;

  constructor(call: ToolCall, { command, ports }: Shown, runCommand: RunCommand) {
    this.call = call;
    this.command = command;
    this.ports = ports;
    let onBegun: () => void = () => undefined;
    this.begun = new Promise((resolve) => {
      onBegun = resolve;
    });
    const onStdin = (handle: StdinWriter) => {
      this.#handle = handle;
      onBegun();
    };
    this.ended = runCommand(call, {
      signal: this.#kill.signal,
      dialogue: { onStdin, isServer: false },
      onOutput: (_, chunk) => this.log.append(chunk),
    }).then((outcome) => {
      this.#outcome = outcome;
      return outcome;
    });
  }

  /** How it ended; null while it runs. */
  get outcome(): Outcome | null {
    return this.#outcome;
  }

  /** Asks the command to end, and kills all of its processes when it has not done so in time. */
  async stop(): Promise<Outcome> {
    if (this.#handle === null) return this.kill();
    this.#handle.askToEnd();
    const timer = setTimeout(() => void this.kill(), GRACE_MS);
    return this.ended.finally(() => clearTimeout(timer));
  }

  /** Ends all of its processes at once. */
  kill(): Promise<Outcome> {
    this.#kill.abort();
    return this.ended;
  }
}
