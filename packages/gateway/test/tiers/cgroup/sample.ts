/** What kernels print in /proc/self/mountinfo and /proc/self/cgroup on machines of different kinds. */

export type Machine = { readonly mountinfo: string; readonly selfCgroup: string };

/** Lines of a text block. */
function lines(...each: string[]): string {
  return `${each.join('\n')}\n`;
}

const ROOT = '27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw';
const SYS = '23 27 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw';
const TMPFS = '31 23 0:28 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755';

export const UNIFIED_MOUNT =
  '30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot';

/** A systemd host with version 2, in the scope of a user's terminal. */
export const userSession: Machine = {
  mountinfo: lines(ROOT, SYS, UNIFIED_MOUNT),
  selfCgroup: lines(
    '0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice/vte-spawn-1.scope',
  ),
};

/** Version 1 with all controllers, as older systemd mounted them: some together. */
export const separate: Machine = {
  mountinfo: lines(
    ROOT,
    SYS,
    TMPFS,
    '32 31 0:29 / /sys/fs/cgroup/systemd rw,nosuid - cgroup cgroup rw,xattr,name=systemd',
    '33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:12 - cgroup cgroup rw,cpu,cpuacct',
    '34 31 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:13 - cgroup cgroup rw,memory',
    '35 31 0:32 / /sys/fs/cgroup/pids rw,nosuid shared:14 - cgroup cgroup rw,pids',
  ),
  selfCgroup: lines(
    '11:cpu,cpuacct:/',
    '9:memory:/system.slice/palisade.service',
    '5:pids:/system.slice/palisade.service',
    '1:name=systemd:/system.slice/palisade.service',
  ),
};

/** Version 1 limits, and the unified tree beside them without any. */
export const hybrid: Machine = {
  mountinfo: lines(
    separate.mountinfo.trimEnd(),
    '36 31 0:33 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw',
  ),
  selfCgroup: lines(separate.selfCgroup.trimEnd(), '0::/system.slice/palisade.service'),
};

/** Docker on a version 1 host: each tree is mounted from the container's own group on, and is read-only. */
export const docker: Machine = {
  mountinfo: lines(
    '27 1 0:50 / / rw,relatime - overlay overlay rw',
    '60 27 0:54 / /sys ro,nosuid,nodev,noexec - sysfs sysfs ro',
    '61 60 0:55 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755',
    '62 61 0:31 /docker/3f8a /sys/fs/cgroup/memory ro,nosuid master:13 - cgroup cgroup rw,memory',
    '63 61 0:32 /docker/3f8a /sys/fs/cgroup/pids ro,nosuid master:14 - cgroup cgroup rw,pids',
  ),
  selfCgroup: lines('9:memory:/docker/3f8a/inner', '5:pids:/docker/3f8a'),
};

/** A container with a cgroup namespace of its own. */
export const namespaced: Machine = {
  mountinfo: lines(
    '27 1 0:50 / / rw,relatime - overlay overlay rw',
    '61 27 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw',
  ),
  selfCgroup: lines('0::/'),
};

/** A namespace whose tree was mounted outside of it, so that the groups above show as "..". */
export const aboveNamespace: Machine = {
  mountinfo: lines(ROOT, '61 27 0:26 /../../.. /sys/fs/cgroup rw - cgroup2 cgroup rw'),
  selfCgroup: lines('0::/'),
};

export const outsideNamespace: Machine = {
  mountinfo: lines(ROOT, SYS, UNIFIED_MOUNT),
  selfCgroup: lines('0::/../../other'),
};

export const withSpaces: Machine = {
  mountinfo: lines(ROOT, '61 27 0:26 /a\\040b /mnt/my\\040groups\\134x rw - cgroup2 cgroup rw'),
  selfCgroup: lines('0::/a b/c:d'),
};

/** A bind mount of the tree that is read-only stands before the one that can be written. */
export const twice: Machine = {
  mountinfo: lines(
    ROOT,
    '60 27 0:26 /other /a ro - cgroup2 cgroup rw',
    '61 27 0:26 / /b rw - cgroup2 cgroup rw',
  ),
  selfCgroup: lines('0::/x'),
};

/** Something was mounted over the directory of the trees; the table still lists what is below. */
export const covered: Machine = {
  mountinfo: lines(separate.mountinfo.trimEnd(), '70 23 0:60 / /sys/fs rw - tmpfs tmpfs rw'),
  selfCgroup: separate.selfCgroup,
};

/** Something was mounted on the very mount point. */
export const stacked: Machine = {
  mountinfo: lines(ROOT, SYS, UNIFIED_MOUNT, '70 30 0:60 / /sys/fs/cgroup rw - tmpfs tmpfs rw'),
  selfCgroup: lines('0::/'),
};

export const deleted: Machine = {
  mountinfo: lines(ROOT, SYS, UNIFIED_MOUNT),
  selfCgroup: lines('0::/gone.scope (deleted)'),
};

export const unmounted: Machine = { mountinfo: lines(ROOT, SYS), selfCgroup: lines('0::/') };

export const withoutKernelSupport: Machine = { mountinfo: lines(ROOT, SYS), selfCgroup: '' };
