/** Directories that are never a workspace, and what makes a directory a project. Each row has its reason. */

/** How far a place reaches: only itself; everything below; the dot-directories of a home; the same for each home in it. */
type Reach = 'itself' | 'all' | 'home' | 'homes';

/** A directory in which no command may work, and which no workspace may contain. */
export type Place = {
  readonly path: string;
  readonly reach: Reach;
  /** Completes "it is …" in refusals. */
  readonly what: string;
  /** Directories in a place that reaches everything below; work is possible below them. */
  readonly except?: readonly string[];
  /** A root may contain it: each workspace below the root is judged by itself. */
  readonly mayLieInRoot?: true;
};

const rows = (reach: Reach, what: string, paths: string): readonly Place[] =>
  paths.split(/\s+/).map((path) => ({ path, reach, what }));

export const SYSTEM_PLACES: readonly Place[] = [
  ...rows('itself', 'the top of the file system', '/'),
  // Programs and libraries: what runs from here runs as everyone. Sources below /usr are projects, as in many images.
  {
    path: '/usr',
    reach: 'all',
    what: 'a directory of the system',
    except: ['/usr/src', '/usr/local/src'],
  },
  ...rows('all', 'a directory of the system', '/bin /sbin /lib /lib32 /lib64 /libx32 /boot /nix /snap'),
  // Settings, sockets and secrets of every service. Disks that a user plugs in are mounted below /run/media.
  ...rows('all', 'a directory of the system', '/etc'),
  { path: '/run', reach: 'all', what: 'a directory of the system', except: ['/run/media'] },
  ...rows('all', 'a directory of the kernel', '/dev /proc /sys'),
  // Databases, queues and logs; but also shared scratch space, web sites, and the homes and data of systems whose
  // other directories cannot be written.
  {
    path: '/var',
    reach: 'all',
    what: 'a directory of the system',
    except: ['/var/tmp', '/var/www', '/var/home', '/var/roothome', '/var/srv', '/var/opt', '/var/mnt'],
  },
  // Each belongs to many users, programs or disks: one directory below is a workspace, all of them are not.
  ...rows('itself', 'a directory for many programs or users', '/tmp /opt /srv /mnt /media'),
  // Accounts that passwd does not list, as those of a network, have their homes here too.
  ...rows('homes', 'the directory of all homes', '/home /var/home /Users'),
  ...rows('home', 'a home directory', '/root /var/roothome'),
  ...rows('all', 'a directory of the system', '/System /Library /private/etc'),
  ...rows('itself', 'a directory of the system', '/Applications /Volumes /private /private/var /private/tmp'),
];

/** Files that container runtimes mount from a disk which may hold the work as well; they say nothing of that disk. */
export const RUNTIME_FILES: readonly string[] = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];

/** Below this, the home of the gateway’s own user holds work, as the checkouts of build servers; other data does not. */
export const SERVICE_HOMES = '/var/lib';

/** Files and directories that projects have at their top, and homes, downloads and system directories do not. */
export const PROJECT_MARKERS: readonly string[] = [
  // Version control: the checkout of one project. A worktree and a submodule have a file of this name.
  ...['.git', '.hg', '.jj', '.svn', '.fossil'],
  // The manifest of a package or of a build, by language.
  ...['package.json', 'deno.json', 'deno.jsonc', 'tsconfig.json'],
  ...['pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'Pipfile'],
  ...['Cargo.toml', 'go.mod', 'go.work', 'build.zig', 'dune-project', 'stack.yaml', 'mix.exs'],
  ...['pom.xml', 'build.gradle', 'build.gradle.kts', 'settings.gradle', 'build.sbt', 'build.xml', 'deps.edn'],
  ...['Gemfile', 'composer.json', 'Package.swift', 'pubspec.yaml', 'DESCRIPTION', 'Project.toml'],
  ...[
    'Makefile',
    'GNUmakefile',
    'CMakeLists.txt',
    'meson.build',
    'configure.ac',
    'BUILD.bazel',
    'MODULE.bazel',
  ],
  ...['flake.nix', 'Justfile', 'justfile', 'Taskfile.yml'],
  // A skill of palisade.
  'skill.toml',
];
