import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_BUDGETS, groupsByPrincipal } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { DEFAULT_LIMITS, LIMIT_CEILINGS } from '../../src/core/limits.ts';
import { makeScratch, refusalOf } from './scratch.ts';

const { directory, load, refusal } = makeScratch();

describe('loadConfig() gives', () => {
  it('the defaults when there is no file', async () => {
    const config = await loadConfig({ stateDir: join(directory, 'absent') });
    expect(config).toEqual({
      gateway: { tenant: 'default' },
      limits: DEFAULT_LIMITS,
      ceilings: LIMIT_CEILINGS,
      input: { maxBytes: 131_072, maxDepth: 64 },
      approval: { expiresAfterS: 900, notify: 'off', notifyUrl: null, notifySecretFile: null },
      journal: {
        checkpointEveryRecords: 1024,
        checkpointAfterMs: 1000,
        segmentRecords: 65_536,
        redactEnv: ['*_TOKEN', '*_SECRET', '*_PASSWORD', '*_API_KEY', '*_PRIVATE_KEY'],
      },
      policy: { reloadMs: 250 },
      store: { busyTimeoutMs: 30_000 },
      clock: { maxBehindMs: 60_000 },
      wasm: {
        wallMs: 30_000,
        fuel: 10_000_000,
        memoryBytes: 67_108_864,
        tableElements: 100_000,
        instances: 256,
      },
      process: {
        workspaces: [],
        tierDefault: 'c',
        tierFloor: 'b',
        executables: ['*'],
        interpreters: [],
        searchPath: ['/usr/local/bin', '/usr/bin', '/bin'],
        env: [
          ...['LANG', 'LANGUAGE', 'LC_*', 'TZ', 'TERM', 'COLORTERM', 'COLUMNS', 'LINES', 'NO_COLOR'],
          ...['FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'CI', 'SOURCE_DATE_EPOCH'],
        ],
        readOnly: [],
        argumentPaths: 'inform',
        toolHomes: [],
        gitIdentity: 'host',
        protected: [],
        allowWrites: [],
        ports: [],
        egress: 'strict',
        egressHosts: [],
        egressIntercept: [],
        wallMs: 600_000,
        cpuMs: 1_200_000,
        memoryBytes: 2_147_483_648,
        outputBytes: 1_048_576,
        outputOverflow: 'cut',
        fileBytes: 268_435_456,
        processes: 512,
        openFiles: 1024,
        egressBytes: 268_435_456,
        firstUid: 61_000,
        warm: 2,
        snapshots: 'on',
        snapshotBytes: 536_870_912,
        snapshotFiles: 50_000,
        snapshotFileBytes: 16_777_216,
        snapshotWaitMs: 2000,
        snapshotKeepMs: 7 * 86_400_000,
        snapshotTotalBytes: 2_147_483_648,
      },
      vault: { key: 'file', passphraseFile: null },
      skills: {
        ...{ firstUse: 'refuse', advisories: null, reauditAfterMs: 7 * 86_400_000, reviewers: 1 },
        ...{ failAfterTraps: 10, failWindowMs: 600_000 },
      },
      http: {
        listen: '127.0.0.1:7433',
        allowedHosts: [],
        allowedOrigins: [],
        publicUrl: null,
        maxBodyBytes: 4_194_304,
        maxConnections: 2048,
        requestTimeoutMs: 30_000,
        ratePerMinute: 600_000,
        callsAtOnce: 256,
        drainMs: 10_000,
      },
      oauth: {
        issuer: null,
        audience: null,
        jwksUrl: null,
        principalKind: 'agent',
        principalClaim: 'sub',
        tenantClaim: null,
        deviceClaim: null,
        channelClaim: null,
      },
      session: { idleAfterMs: 1_800_000 },
      mcp: { elicitation: 'stdio' },
      runs: { keepForMs: 86_400_000, keepOutputBytes: 1_048_576 },
      log: { level: 'info' },
      telemetry: { otlpEndpoint: null },
      groups: new Map(),
      secrets: [],
      upstreams: [],
      registries: [],
      budgets: DEFAULT_BUDGETS,
      file: null,
    });
  });

  it('the defaults for an empty file, also one with a byte order mark', async () => {
    for (const content of ['', '\ufeff', '# nothing\n']) {
      const { file, ...config } = await load(content);
      const { file: none, ...defaults } = await loadConfig({ stateDir: join(directory, 'absent') });
      expect(config).toEqual(defaults);
      expect([file?.name, none]).toEqual(['palisade.toml', null]);
    }
  });

  it('budgets in the units of the budget module', async () => {
    const { budgets } = await load(`
      [[budget]]
      name = "agents"
      per = "principal"
      match = "agent:*"
      window = "90s"
      calls = 50
      egress_bytes = 0xff
      [[budget]]
      name = "run"
      per = "run"
      fuel = 1_000`);
    const none = { calls: null, wallMs: null, cpuMs: null, fuel: null, outputBytes: null, egressBytes: null };
    expect(budgets).toEqual([
      {
        ...none,
        name: 'agents',
        per: 'principal',
        match: 'agent:*',
        windowMs: 90_000,
        calls: 50,
        egressBytes: 255,
      },
      { ...none, name: 'run', per: 'run', match: null, windowMs: null, fuel: 1000 },
    ]);
  });

  it.each([
    ['1s', 1000],
    ['1m', 60_000],
    ['1h', 3_600_000],
    ['366d', 31_622_400_000],
  ])('the window "%s" as %d ms', async (window, windowMs) => {
    const { budgets } = await load(`[[budget]]\nname = "a"\nper = "tool"\nwindow = "${window}"\ncalls = 1`);
    expect(budgets.map((budget) => budget.windowMs)).toEqual([windowMs]);
  });

  it('groups by name and by principal', async () => {
    const config = await load('[groups]\nops = ["user:eve", "agent:ada"]\nconstructor = ["agent:ada"]');
    expect([...config.groups]).toEqual([
      ['ops', ['user:eve', 'agent:ada']],
      ['constructor', ['agent:ada']],
    ]);
    expect([...groupsByPrincipal(config)]).toEqual([
      ['user:eve', ['ops']],
      ['agent:ada', ['ops', 'constructor']],
    ]);
  });

  it('what is said about skills, with the time in milliseconds', async () => {
    const { skills } = await load(`[skills]
first_use = "trust"
advisories = "/srv/advisories.json"
reaudit_after = "12h"
fail_after_traps = 0
fail_window = "1h"
reviewers = 2`);
    expect(skills).toEqual({
      ...{ firstUse: 'trust', advisories: '/srv/advisories.json' },
      ...{ reauditAfterMs: 43_200_000, reviewers: 2, failAfterTraps: 0, failWindowMs: 3_600_000 },
    });
  });

  it('no default limit above a ceiling that was lowered', async () => {
    const { limits } = await load('[ceilings]\nwall_ms = 500');
    expect(limits).toEqual({ ...DEFAULT_LIMITS, wallMs: 500 });
  });

  it('a limit above the default ceiling once the ceiling is raised', async () => {
    const { limits } = await load('ceilings.fuel = 20_000_000_000\nwasm.fuel = 20_000_000_000');
    expect(limits.fuel).toBe(20_000_000_000);
  });

  it('the file that configPath names, also through a link', async () => {
    const target = join(directory, 'real.toml');
    const configPath = join(directory, 'link.toml');
    writeFileSync(target, 'gateway.tenant = "blue"');
    symlinkSync(target, configPath);
    const config = await loadConfig({ stateDir: join(directory, 'absent'), configPath });
    expect(config.gateway.tenant).toBe('blue');
  });
});

describe('loadConfig() refuses a file that is', () => {
  it('over 256 KiB, and takes one that is not', async () => {
    expect(await refusal('#'.repeat(256 * 1024))).toBe('loaded');
    expect(await refusal('#'.repeat(256 * 1024 + 1))).toContain(
      'it is too large, expected at most 262144 bytes',
    );
  });

  it('a directory, a pipe or a device', async () => {
    const configPath = join(directory, 'odd');
    mkdirSync(configPath);
    expect(await refusalOf(loadConfig({ stateDir: directory, configPath }))).toContain(
      'expected a regular file',
    );
    rmSync(configPath, { recursive: true });
    execFileSync('mkfifo', [configPath]);
    expect(await refusalOf(loadConfig({ stateDir: directory, configPath }))).toContain(
      'expected a regular file',
    );
    expect(await refusalOf(loadConfig({ stateDir: directory, configPath: '/dev/zero' }))).toContain(
      'expected a regular file',
    );
  });

  it('named and absent, or beneath a file', async () => {
    const absent = join(directory, 'none.toml');
    expect(await refusalOf(loadConfig({ stateDir: directory, configPath: absent }))).toContain(
      'the file does not exist',
    );
    const beneath = join(directory, 'palisade.toml', 'x.toml');
    await load('');
    expect(await refusalOf(loadConfig({ stateDir: directory, configPath: beneath }))).toContain('ENOTDIR');
  });
});
