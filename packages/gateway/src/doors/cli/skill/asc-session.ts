/**
 * One AssemblyScript compiler for many builds: a call of the line that lasts as long as the session, in a jail without a
 * network that shows the compiler and the library. The sources are handed to it and the modules come back, so it sees
 * nothing of the folder and writes nothing there. What it says is untrusted: one malformed answer ends it.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withSourceMap } from '@palisade/wasm';
import { CodedError } from '../../../core/coded-error.ts';
import { anyText, object, orNull, readJson, whole } from '../../../core/json-shape.ts';
import { LIMIT_CEILINGS } from '../../../core/limits.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { flag } from '../../../core/shape.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { ForbiddenPlaces } from '../../../runner/forbidden.ts';
import { PACKAGE_LIMITS } from '../../../skills/limits.ts';
import type { StdinWriter } from '../../../tiers/child/child.ts';
import { principalOf } from '../input.ts';
import { callOf } from '../make-call.ts';
import { outputOf } from '../nouns/exec.ts';
import { ASC_SERVER } from './asc-server.ts';
import {
  type BuildBench,
  BuildFailure,
  type BuiltModule,
  keepModule,
  type ModuleBuilder,
  type ModulePair,
  noModule,
} from './build-modules.ts';
import { BUILD_TOOL, buildTool } from './build-tool.ts';
import { type FoundCompiler, findCompiler, makeShownFolder, showToJail } from './find-compiler.ts';
import { readFolderFile } from './folder.ts';
import type { FolderState } from './watch-folder.ts';

const OUT = 'module.wasm';
const SERVER = 'compiler.mjs';
/** A module in base64 and what was printed with it. */
const MOST_ANSWER_BYTES = 2 * PACKAGE_LIMITS.entryBytes;
const MOST_SOURCE_BYTES = 16 * 1024 * 1024;

const ANSWER = object({ id: whole, ok: flag, module: orNull(anyText), map: orNull(anyText), text: anyText });

type SessionBench = BuildBench & { readonly files: () => FolderState };

/** A builder that keeps one compiler running between the modules and their builds. */
export function openAscSession(bench: SessionBench): ModuleBuilder {
  const { invocation, gateway, folder, build } = bench;
  const { searchPath } = gateway.config.process;
  const shown = showToJail(findCompiler(invocation, build.language, { folder, searchPath }), folder);
  let running: AscProcess | null = null;
  return {
    compiler: shown.found.compiler.name,
    build: (pair) => {
      if (running === null || running.isOver) running = new AscProcess(bench, shown.found);
      return running.build(pair);
    },
    close: async () => {
      await running?.close();
      shown.remove();
    },
  };
}

type Waiting = { readonly id: number; readonly settle: (answer: Answer | null) => void };
type Answer = Readonly<Record<'module' | 'map', string | null>> & {
  readonly ok: boolean;
  readonly text: string;
};

class AscProcess {
  readonly #bench: SessionBench;
  readonly #found: FoundCompiler;
  readonly #workspace: string;
  readonly #stop = new AbortController();
  readonly #ended: Promise<Outcome>;
  readonly #begun: Promise<void>;
  #callId = '';
  #stdin: StdinWriter | null = null;
  #waiting: Waiting | null = null;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #asked = 0;
  #isOver = false;

  constructor(bench: SessionBench, found: FoundCompiler) {
    this.#bench = bench;
    this.#found = found;
    this.#workspace = makeShownFolder();
    let onBegun: () => void = () => undefined;
    this.#begun = new Promise((resolve) => {
      onBegun = resolve;
    });
    this.#ended = this.#run(onBegun).finally(() => {
      this.#isOver = true;
      this.#waiting?.settle(null);
      rmSync(this.#workspace, { recursive: true, force: true });
    });
  }

  get isOver(): boolean {
    return this.#isOver || this.#stop.signal.aborted;
  }

  async build(pair: ModulePair): Promise<BuiltModule> {
    const { gateway, folder, isDebug } = this.#bench;
    const startedMs = gateway.clock.monotonicMs();
    const { words } = this.#found.compiler;
    const { guest, packages } = this.#found;
    const args = words({ source: pair.source, out: OUT, guest, packages, wit: '', isDebug });
    const answer = await this.#ask({ words: args, out: OUT, files: this.#sources() });
    const what = `Cannot build "${pair.module}" from "${pair.source}": asc found errors, expected none`;
    if (!answer.ok) throw new BuildFailure(what, this.#callId, answer.text);
    if (answer.module === null) throw noModule(pair, this.#callId, answer.text);
    const module = Buffer.from(answer.module, 'base64');
    const kept = keepModule(folder, pair, answer.map === null ? module : withSourceMap(module, answer.map));
    const wallMs = Math.ceil(gateway.clock.monotonicMs() - startedMs);
    return { ...kept, callId: this.#callId, wallMs, findings: [] };
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #run(onBegun: () => void): Promise<Outcome> {
    const { invocation, gateway, build } = this.#bench;
    writeFileSync(join(this.#workspace, SERVER), ASC_SERVER);
    const line = { ...gateway, registry: gateway.registry.with([this.#tool()]) };
    const principal = principalOf(invocation);
    const [first] = build.modules;
    const call = callOf(invocation, gateway, {
      principal,
      tool: BUILD_TOOL,
      rawInput: JSON.stringify(first),
    });
    this.#callId = call.id;
    const onStdin = (stdin: StdinWriter) => {
      this.#stdin = stdin;
      onBegun();
    };
    const signal = AbortSignal.any([invocation.signal, this.#stop.signal]);
    const { outcome } = await invoke(line, call, signal, {
      dialogue: { onStdin, isServer: false },
      onOutput: (stream, chunk) => (stream === 'stdout' ? this.#hear(Buffer.from(chunk)) : undefined),
    });
    return outcome;
  }

  #tool() {
    const { invocation, gateway } = this.#bench;
    const { stateDir, edge } = invocation;
    const [script = ''] = this.#found.lead;
    const lead = [join(this.#workspace, SERVER), join(dirname(dirname(script)), 'dist/asc.js')];
    // As long as a call may take; then another one is started.
    const compiler = { ...this.#found.compiler, wallMs: LIMIT_CEILINGS.wallMs };
    return buildTool({
      found: { ...this.#found, compiler, lead },
      folder: this.#workspace,
      config: gateway.config,
      clock: edge.clock,
      forbidden: new ForbiddenPlaces({ stateDir: stateDir.path, home: edge.env.home }),
      argumentsFor: () => [],
    });
  }

  /** The sources of the folder; the library is shown to the jail. */
  #sources(): Readonly<Record<string, string>> {
    const { folder, files } = this.#bench;
    const paths = [...files().keys()].filter((path) => path.endsWith('.ts'));
    const sources: Record<string, string> = {};
    let bytes = 0;
    for (const path of paths) {
      // A link is refused here, as it is when a package is made of the folder.
      const content = readFolderFile(folder, path);
      bytes += content?.length ?? 0;
      if (bytes > MOST_SOURCE_BYTES)
        throw new CodedError(
          'skill/build-failed',
          `Cannot build: the sources have more than ${MOST_SOURCE_BYTES} bytes`,
        );
      if (content !== null) sources[path] = Buffer.from(content).toString('utf8');
    }
    return sources;
  }

  async #ask(request: object): Promise<Answer> {
    await Promise.race([this.#begun, this.#ended]);
    const id = ++this.#asked;
    const { wallMs } = this.#found.compiler;
    const timer = setTimeout(() => this.#stop.abort(), wallMs);
    const answer = await new Promise<Answer | null>((settle) => {
      if (this.isOver || this.#stdin === null) return settle(null);
      this.#waiting = { id, settle };
      this.#stdin.write(Buffer.from(`${JSON.stringify({ id, ...request })}\n`));
    });
    clearTimeout(timer);
    this.#waiting = null;
    if (answer !== null) return answer;
    this.#stop.abort();
    throw await this.#whyItEnded();
  }

  async #whyItEnded(): Promise<CodedError> {
    const outcome = await this.#ended;
    const { stderr = '' } = outputOf(outcome);
    if (outcome.status === 'ok' || outcome.code === 'tier/exited')
      return new BuildFailure('Cannot build: the compiler ended, expected an answer', this.#callId, stderr);
    return new CodedError(outcome.code, outcome.message, { remedy: outcome.remedy });
  }

  /** Boundary: an answer is one line of bounded length, for what was asked, in the one form that answers have. */
  #hear(chunk: Buffer): void {
    const end = chunk.indexOf('\n');
    this.#chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_ANSWER_BYTES) this.#stop.abort();
    else if (end >= 0) this.#take(this.#line(), end + 1 === chunk.length);
  }

  #line(): Buffer {
    const line = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    return line;
  }

  #take(line: Buffer, isAlone: boolean): void {
    const read = readJson(line, { maxBytes: MOST_ANSWER_BYTES, maxDepth: 4 }, ANSWER);
    if (isAlone && read.ok && read.value.id === this.#waiting?.id) this.#waiting.settle(read.value);
    else this.#stop.abort();
  }
}
