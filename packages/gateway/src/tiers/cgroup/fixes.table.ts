/** What a person can do where no group can be made, one sentence each. */
export const FIXES = {
  unmounted:
    'Mount the cgroup file system, for example with `mount -t cgroup2 none /sys/fs/cgroup`, and start palisade again.',
  controller:
    'Start palisade with `systemd-run --user --scope -p Delegate=yes palisade …`; where the kernel itself lacks the controller, boot it with `cgroup_enable=memory`.',
  readOnly: 'Start the container so that /sys/fs/cgroup can be written in it, and start palisade again.',
  delegate:
    'Start palisade with `systemd-run --user --scope -p Delegate=yes palisade …`, or in a container as its only process.',
  root: 'Start palisade as root, or have root give its user a group of its own in the trees "memory" and "pids".',
} as const;
