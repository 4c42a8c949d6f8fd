# Shared by the scripts beside it; source it, do not run it. Needs bash.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $1"; exit "${2:-1}"; }

# Runs a command as root, through sudo when we are somebody else.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "'$*' needs root and there is no sudo; run it as root yourself, then try again"; fi
}

# Runs a command with its output in a log, one dot every two seconds so that nobody thinks it hangs; the log is shown when it fails.
with_progress() {
    local title=$1 log start
    shift
    log=$(mktemp)
    start=$SECONDS
    printf '%s ' "$title" >&2
    "$@" >"$log" 2>&1 &
    local job=$!
    while kill -0 "$job" 2>/dev/null; do
        read -rt 2 <> <(:) || true
        printf '.' >&2
    done
    if wait "$job"; then
        printf ' done (%d s)\n' "$((SECONDS - start))" >&2
        rm -f "$log"
    else
        local status=$?
        printf ' failed\n' >&2
        tail -n 60 "$log" >&2
        rm -f "$log"
        return "$status"
    fi
}

# Names the Swift version; exits 2 when there is none that will do.
need_swift() {
    command -v swift >/dev/null ||
        die "the Swift toolchain is missing (6.3 or newer is needed; see swift.org/install), then run this again" 2
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] || die "'swift --version' does not name a version; 6.3 or newer is needed" 2
    say "Swift $version"
    dpkg --compare-versions "$version" ge 6.3 || die "Swift $version is too old; 6.3 or newer is needed" 2
}

# The oldest ngtcp2 whose interface we use. Debian 12 has it in backports, Debian 13 in main.
ngtcp2_version=1.11

newest_ngtcp2() { apt-cache policy libngtcp2-dev | sed -n 's/^ *Candidate: //p'; }

# The suite that apt must be told to prefer; empty when main is new enough.
ngtcp2_suite() {
    # shellcheck source=/dev/null
    local codename
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    [ "$codename" = bookworm ] && printf 'bookworm-backports'
    return 0
}

has_backports() { apt-cache policy | grep -q 'n=bookworm-backports'; }

# Adds the suite bookworm-backports to the Debian source entry that is already there, and says so.
enable_backports() {
    has_backports && return
    local file
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] && grep -qE '^Suites:(.* )?bookworm( |$)' "$file" || continue
        say "package sources: adding the suite bookworm-backports to the Debian entry of $file"
        as_root sed -i -E '/^Suites:(.* )?bookworm( |$)/{/bookworm-backports/!s/$/ bookworm-backports/}' "$file"
        as_root apt-get update -qq
        has_backports && return
    done
    local line
    line=$(grep -hE '^deb (\[[^]]*\] )?[^ ]+ bookworm ' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1 || true)
    [ -n "$line" ] || die "no Debian 'bookworm' source entry found in /etc/apt; add the suite bookworm-backports, then run this again"
    line=$(printf '%s' "$line" | sed -E 's/ bookworm / bookworm-backports /')
    say "package sources: adding '$line' in /etc/apt/sources.list.d/mew-backports.list"
    printf '%s\n' "$line" | as_root tee /etc/apt/sources.list.d/mew-backports.list >/dev/null
    as_root apt-get update -qq
    has_backports || die "the suite bookworm-backports did not appear after 'apt-get update'"
}

missing_packages() {
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
    done
}

apt_install() {
    with_progress "installing $*" as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# Installs those of the named Debian packages that are missing.
need_packages() {
    command -v apt-get >/dev/null || die "this script installs Debian packages and finds no apt-get; install these yourself: $*" 2
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ "${#missing[@]}" -eq 0 ] && return
    with_progress "reading package lists" as_root apt-get update -qq
    apt_install "${missing[@]}"
}

# True when each named package is installed in a version that will do (nghttp3 counts its own versions).
ngtcp2_packages_are_new_enough() {
    local package least have
    for package in "$@"; do
        case "$package" in *nghttp3*) least=1.8 ;; *) least=$ngtcp2_version ;; esac
        have=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || true)
        dpkg --compare-versions "${have:-0}" ge "$least" || return 1
    done
}

# Like need_packages, for ngtcp2's and nghttp3's packages, which must be new enough.
need_ngtcp2_packages() {
    ngtcp2_packages_are_new_enough "$@" && return
    with_progress "reading package lists" as_root apt-get update -qq
    local suite
    suite=$(ngtcp2_suite)
    if [ -n "$suite" ]; then
        enable_backports
        apt_install -t "$suite" "$@"
    else
        dpkg --compare-versions "$(newest_ngtcp2)" ge "$ngtcp2_version" ||
            die "this Debian has ngtcp2 $(newest_ngtcp2); $ngtcp2_version or newer is needed (Debian 12 with backports, or Debian 13)"
        apt_install "$@"
    fi
}

release_binary() { printf '%s/mew' "$(swift build -c release --show-bin-path)"; }

build_release() { with_progress "building mew (release; a first build takes a few minutes)" swift build -c release --product mew; }
