import type { Digest } from '../../src/core/digest.ts';
import type { ProcessTerms } from '../../src/core/process.ts';

const MIB = 1024 * 1024;

/** Terms of a small command in a project, with the given ones in their place. */
export function sampleTerms(changes: Partial<ProcessTerms> = {}): ProcessTerms {
  const { workspace = '/home/ada/project' } = changes;
  return {
    executable: '/usr/bin/git',
    executableSha256: `sha256:${'0'.repeat(64)}` as Digest,
    files: [],
    argv: ['git', 'status', '--short'],
    workspace,
    cwd: workspace,
    directories: null,
    env: { LANG: 'C.UTF-8', PATH: '/usr/bin:/bin' },
    stdin: null,
    limits: {
      wallMs: 30_000,
      cpuMs: 10_500,
      memoryBytes: 512 * MIB,
      outputBytes: MIB,
      fileBytes: 64 * MIB,
      processes: 64,
      openFiles: 256,
      egressBytes: 1_000_000,
    },
    outputOverflow: 'kill',
    egress: 'strict',
    egressHosts: [],
    secrets: [],
    readOnly: [],
    gitIdentity: null,
    protectedPaths: [],
    allowedWrites: [],
    ports: [],
    ...changes,
  };
}
