import { expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, runBare, startVictim } from '../fixtures/commands/probe.ts';

/* A command looks into other processes: their variables, memory, files and words. The victim has the run's own user. */

const probe = proberOf(sharedGateway());
const SECRET = 'sk-canary-in-the-environment';
const SPY = `
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
told = json.load(sys.stdin)
def attempt(act):
    try: return act()
    except OSError as e: return type(e).__name__
def read(path): return open(path, 'rb').read(65536).decode('latin1')
def trace(request, pid):
    if libc.ptrace(request, pid, None, None) != 0: raise OSError(ctypes.get_errno(), 'ptrace')
    libc.ptrace(17, pid, None, None)
    return 'traced'
class Vector(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
def vm_read(pid):
    buffer = ctypes.create_string_buffer(16)
    local, remote = Vector(ctypes.addressof(buffer), 16), Vector(told.get('address', 4096), 16)
    if libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), 'vm')
    return 'read'
found = {}
for pid in told['pids']:
    at = f'/proc/{pid}/'
    found[pid] = {
        'environ': attempt(lambda: read(at + 'environ')), 'maps': attempt(lambda: read(at + 'maps')),
        'fds': attempt(lambda: os.listdir(at + 'fd')), 'words': attempt(lambda: read(at + 'cmdline')),
        'memory': attempt(lambda: open(at + 'mem', 'rb').close() or 'opened'),
        'root': attempt(lambda: os.listdir(at + 'root') and 'listed'),
        'attach': attempt(lambda: trace(16, pid)), 'seize': attempt(lambda: trace(0x4206, pid)),
        'pidfd': attempt(lambda: os.close(os.pidfd_open(pid)) or 'opened'),
        'vm': attempt(lambda: vm_read(pid)),
    }
print(json.dumps(found))
`;
const REFUSED = /^(FileNotFoundError|ProcessLookupError|PermissionError|OSError)$/;

test('a command learns nothing of another process of its user, of the gateway, or of its own launcher', async () => {
  const victim = await startVictim({ SECRET });
  const pids = [victim.pid, process.pid, process.ppid];
  const found = printedBy(await probe(SPY, { stdin: JSON.stringify({ pids }) })) as Record<
    string,
    Record<string, unknown>
  >;
  for (const pid of pids) {
    for (const [what, answer] of Object.entries(found[pid] ?? {})) {
      expect([what, answer]).toEqual([what, expect.stringMatching(REFUSED)]);
    }
  }
  const { 1: launcher } = printedBy(await probe(SPY, { stdin: JSON.stringify({ pids: [1] }) })) as {
    1: Record<string, unknown>;
  };
  const { words, pidfd: _, ...rest } = launcher;
  for (const [what, answer] of Object.entries(rest)) {
    expect([what, answer]).toEqual([what, expect.stringMatching(REFUSED)]);
  }
  // Everybody may read the words of a process; the launcher's tell nothing.
  expect(String(words).replaceAll('\0', '')).toBe('palisade-launchermode=serverequests=3handles=4');
});

test('outside, the same program reads the secret of a process of its user', async () => {
  const victim = await startVictim({ SECRET });
  const found = JSON.parse(runBare(SPY, JSON.stringify({ pids: [victim.pid] })))[victim.pid];
  expect(found.environ).toContain(SECRET);
  expect(found).toMatchObject({ memory: 'opened', root: 'listed', attach: 'traced', pidfd: 'opened' });
  expect(found.maps).toContain('python');
});
