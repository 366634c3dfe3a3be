/**
 * What `palisade skill dev` does after each change: build what has to be built, check the folder, run the test cases, and
 * make the call that was asked for. One gateway, one builder and one compiler serve all rounds. A round ends with a code,
 * whatever happens in it; only a folder that is gone ends the session.
 */
import { CODES, type Code } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { type CaseResult, runCases, tryTool } from '../../../invoke/skills/run-cases.ts';
import type { Manifest } from '../../../skills/manifest/manifest.ts';
import { principalOf } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { openAscSession } from './asc-session.ts';
import { type BuiltModule, type ModuleBuilder, openBuilder } from './build-modules.ts';
import { checkFolder } from './check-folder.ts';
import type { DevReport } from './dev-report.ts';
import { manifestOf } from './folder.ts';
import { packFolder } from './package-file.ts';
import { changedFiles, type FolderState, watchFolder } from './watch-folder.ts';

export type DevBench = {
  readonly invocation: Invocation;
  readonly gateway: Opened<Gateway>;
  readonly folder: string;
  readonly report: DevReport;
  readonly withCapabilities: boolean;
  /** The call after each build; null: none. */
  readonly call: { readonly tool: string; readonly inputText: string } | null;
};

/** What no module is made of; a change of it needs no build. */
const NOT_BUILT = /^(?:tests|schemas|fixtures)\/|\.md$|^LICENSE|^skill\.toml$/;
const OK: Code = 'ok';

export class DevSession {
  readonly #bench: DevBench;
  /** The modules that are written here, so that they are no change. */
  #ours: ReadonlySet<string> = new Set();
  #builder: { readonly key: string; readonly builder: ModuleBuilder } | null = null;
  #isBuilt = false;
  #files: FolderState = new Map();

  constructor(bench: DevBench) {
    this.#bench = bench;
  }

  /** One round for the folder as it is, and with `isOnce` false one for each change of it. Gives the last code. */
  async run(isOnce: boolean): Promise<Code> {
    const { invocation, gateway, folder, report } = this.#bench;
    const { signal } = invocation;
    const watched = watchFolder(folder, (path) => this.#ours.has(path));
    let seen: FolderState = new Map();
    for (;;) {
      this.#files = watched.look();
      const changed = changedFiles(seen, this.#files);
      const startedMs = gateway.clock.monotonicMs();
      if (seen.size > 0) report.changed(changed);
      seen = this.#files;
      const code = await this.#round(changed).catch((error: unknown) => {
        if (signal.aborted) return 'tier/cancelled' as const;
        // What fails because the folder is gone says less than that.
        watched.look();
        return report.failed(error);
      });
      if (signal.aborted) return isOnce ? 'tier/cancelled' : OK;
      const ms = Math.ceil(gateway.clock.monotonicMs() - startedMs);
      report.done(code, ms);
      if (isOnce) return code;
      // What is written here is known once the manifest was read, and was there before in a folder that was built.
      seen = new Map([...seen].filter(([path]) => !this.#ours.has(path)));
      const next = await watched.next(seen, signal);
      if (next === null) return OK;
    }
  }

  async close(): Promise<void> {
    const open = this.#builder;
    this.#builder = null;
    await open?.builder.close();
  }

  async #round(changed: readonly string[]): Promise<Code> {
    const { folder, report, call } = this.#bench;
    const manifest = readManifest(folder);
    if (manifest !== null) await this.#build(manifest, changed);
    const { problems, warnings } = await checkFolder(folder);
    report.checked(problems, warnings);
    if (problems.length > 0) return 'skill/invalid-manifest';
    const tested = await this.#test();
    const called = call === null ? OK : await this.#call(call);
    return tested === OK ? called : tested;
  }

  async #build(manifest: Manifest, changed: readonly string[]): Promise<void> {
    const { build } = manifest;
    if (build === null) return;
    const { invocation, gateway, folder, report } = this.#bench;
    const key = JSON.stringify(build);
    const isSame = this.#builder?.key === key;
    if (isSame && this.#isBuilt && changed.every((path) => NOT_BUILT.test(path))) return;
    if (!isSame) {
      await this.close();
      const bench = { invocation, gateway, folder, build, isDebug: true, files: () => this.#files };
      const open = build.language === 'assemblyscript' ? openAscSession : openBuilder;
      this.#builder = { key, builder: open(bench) };
      this.#ours = new Set(build.modules.map(({ module }) => module));
    }
    this.#isBuilt = false;
    const built: BuiltModule[] = [];
    for (const pair of build.modules) {
      const done = await this.#builder?.builder.build(pair);
      if (done === undefined) return;
      report.built(done);
      built.push(done);
    }
    this.#isBuilt = true;
  }

  #job() {
    const { invocation, gateway, folder, withCapabilities, report } = this.#bench;
    const { pkg } = packFolder(folder);
    const acting = { by: principalOf(invocation), tenant: gateway.config.gateway.tenant };
    const { signal } = invocation;
    return {
      ...acting,
      pkg,
      signal,
      withCapabilities,
      withFixtures: true,
      onLog: (lines: string) => report.logged(lines),
    };
  }

  async #test(): Promise<Code> {
    const { gateway, report } = this.#bench;
    const onCase = (result: CaseResult) => report.tested(result);
    const results = await runCases(gateway, { ...this.#job(), onCase });
    return results.some(({ verdict }) => verdict === 'failed') ? 'skill/tests-failed' : OK;
  }

  async #call(call: NonNullable<DevBench['call']>): Promise<Code> {
    const { gateway, report } = this.#bench;
    const job = this.#job();
    const { tools } = job.pkg.manifest;
    if (!tools.some(({ id }) => id === call.tool)) {
      const is = `the skill has no tool "${call.tool}"`;
      const expected = `one of ${tools.map(({ id }) => id).join(', ')}`;
      throw new CodedError('registry/unknown-tool', `Cannot call: ${is}, expected ${expected}`);
    }
    const tried = await tryTool(gateway, job, call);
    report.called(call.tool, tried);
    return tried.outcome.code;
  }
}

/** Null where its problems are told when the folder is checked. */
function readManifest(folder: string): Manifest | null {
  try {
    return manifestOf(folder);
  } catch (error) {
    if (error instanceof CodedError && error.code === 'skill/invalid-manifest') return null;
    throw error;
  }
}

/** The exit status of a code that a round ended with. */
export function statusOf(code: Code): number {
  return CODES[code].exitStatus;
}
