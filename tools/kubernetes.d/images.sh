# shellcheck shell=bash disable=SC2016 # what is in single quotes is for another shell, or for apt
# images.sh - the images of the cluster's containers, made of Debian packages. Part of tools/kubernetes.
#
# A Debian by debootstrap is the first layer; packages are installed in an overlay above it, whose upper
# directory is the second. Every image is then unpacked once, by containerd, into a directory that all nodes
# begin with: node.sh. Images are called local.test/NAME:TAG, which is nobody's registry.

# overlay LOWER UPPER PACKAGE…: installs them there, unless that was done before
overlay()
{
    local lower=$1 upper=$2
    shift 2
    [ "$(cat "$upper.made" 2>/dev/null)" != "$*" ] || return 0
    rm -rf --one-file-system "$upper" "$upper.work" "$upper.made"
    mkdir -p "$upper" "$upper.work" "$upper.all" # the last one is where both are seen together
    unshare --mount bash -euc '
        lower=$1 upper=$2 && shift 2
        mount --make-rprivate /
        mount -t overlay overlay -o "lowerdir=$lower,upperdir=$upper,workdir=$upper.work" "$upper.all"
        cd "$upper.all"
        mount -t proc proc proc
        mount --rbind /dev dev
        mount -t tmpfs tmpfs tmp
        cp -aL /etc/apt/apt.conf.d /etc/resolv.conf /etc/hosts tmp/ # how this machine reaches its packages
        touch etc/resolv.conf etc/hosts
        mount --bind tmp/resolv.conf etc/resolv.conf
        mount --bind tmp/hosts etc/hosts
        mount --bind tmp/apt.conf.d etc/apt/apt.conf.d
        printf "#!/bin/sh\nexit 101\n" >usr/sbin/policy-rc.d # no daemon is started
        chmod +x usr/sbin/policy-rc.d
        chroot . apt-get -qq update
        chroot . env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq -y --no-install-recommends install "$@"
        rm -rf usr/sbin/policy-rc.d var/cache/apt/* var/lib/apt/lists/* var/log/* usr/share/{doc,man,info,locale,lintian}/* \
            etc/ssh/ssh_host_*
    ' bash "$lower" "$upper" "$@"
    echo "$*" >"$upper.made"
}

make_images() # DIR
{
    local work=$CACHE/roots store=$1/store
    [ "$(id -u)" -eq 0 ] || { echo "must run as root" && return 1; }
    "$HERE/deps" kubernetes
    mkdir -p "$work"

    mkdir -p "$work/pause"
    gcc -Os -static -s -o "$work/pause/pause" "$PARTS/pause.c"
    image_of pause:1 scratch pause --entrypoint /pause
    tiny "$work/busybox" /bin/busybox
    image_of busybox:1 scratch busybox
    [ -x "$work/musl.source/busybox" ] || musl_busybox "$work/musl.source"
    tiny "$work/musl" "$work/musl.source/busybox"
    mkdir "$work/musl/lib"
    cp -L /lib/ld-musl-x86_64.so.1 "$work/musl/lib/"
    image_of musl:1 scratch musl

    [ -e "$work/debian.made" ] || debian "$work/debian"
    image_of debian:12 scratch debian
    overlay "$work/debian" "$work/openmpi" openmpi-bin python3-minimal
    image_of openmpi:4 local.test/debian:12 openmpi
    overlay "$work/debian" "$work/mpich" mpich python3-minimal
    image_of mpich:4 local.test/debian:12 mpich
    overlay "$work/debian" "$work/torch" python3-torch python3-numpy
    image_of torch:1 local.test/debian:12 torch
    # as in the images for mpi-operator, sshd is an ordinary user's, with keys that are mounted
    overlay "$work/openmpi:$work/debian" "$work/sshd" openssh-server openssh-client
    mkdir -p "$work/sshd/home/mpiuser"
    printf '%s\n' 'PidFile /home/mpiuser/sshd.pid' 'HostKey /home/mpiuser/.ssh/id_rsa' 'StrictModes no' 'Port 2222' \
        >"$work/sshd/home/mpiuser/.sshd_config"
    printf '%s\n' 'Host *' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' 'LogLevel ERROR' 'Port 2222' \
        >"$work/sshd/etc/ssh/ssh_config"
    chown -R 1000:1000 "$work/sshd/home/mpiuser"
    image_of sshd:1 local.test/openmpi:4 sshd

    unpack "$1"
}

image_of() # NAME FROM ROOT [OPTION…]
{
    local name=$1 from=$2 root=$3
    shift 3
    "$PARTS/image.py" make "$store" "local.test/$name" "$from" "$work/$root" "$@"
}

debian() # DIR
{
    local source
    source=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' | head -n 1)
    rm -rf --one-file-system "$1"
    debootstrap --variant=minbase bookworm "$1" "$source"
    rm -f "$1/etc/apt/sources.list"
    cp -a /etc/apt/sources.list* "$1/etc/apt/"
    rm -rf "$1"/usr/share/{doc,man,info,locale}/* "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*
    : >"$1/etc/resolv.conf"
    chroot "$1" useradd -m -u 1000 -s /bin/bash mpiuser
    touch "$1.made"
}

tiny() # DIR BUSYBOX: a root with nothing else
{
    local applet
    rm -rf "$1"
    mkdir -p "$1"/{bin,etc,tmp,proc,sys,dev,root}
    chmod 1777 "$1/tmp"
    cp "$2" "$1/bin/busybox"
    for applet in $("$2" --list); do
        [ "$applet" = busybox ] || ln -s busybox "$1/bin/$applet"
    done
    echo root:x:0:0:root:/root:/bin/sh >"$1/etc/passwd"
    echo root:x:0: >"$1/etc/group"
}

# musl_busybox DIR: one that is linked with musl, as in Alpine, of Debian's source; DIR/busybox
musl_busybox()
{
    local headers
    rm -rf "$1"
    mkdir -p "$1"/apt/{lists/partial,parts,cache/archives/partial} "$1/headers"
    cd "$1" || return
    # lists of its own, for a machine's have no sources
    sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >apt/parts/source.sources
    printf 'Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "%s"; Dir::State::lists "%s"; Dir::Cache "%s";\n' \
        "$1/apt/parts" "$1/apt/lists" "$1/apt/cache" >apt/apt.conf
    APT_CONFIG=$1/apt/apt.conf apt-get -qq update
    APT_CONFIG=$1/apt/apt.conf apt-get -qq source --download-only busybox
    tar -xf busybox_*.orig.tar.* --strip-components=1
    for headers in linux asm-generic mtd; do ln -s "/usr/include/$headers" headers/; done
    ln -s "/usr/include/$(gcc -print-multiarch)/asm" headers/
    make -s defconfig
    nice -n 10 make -s -j2 CC="musl-gcc -idirafter $1/headers" HOSTCC=gcc busybox
}

# unpack DIR: DIR/containerd is what a containerd has made of the images in DIR/store
unpack()
{
    unshare --mount --pid --fork --kill-child bash -euc '
        mount --make-rprivate /
        mount -t proc proc /proc
        mount -t tmpfs tmpfs /run
        mkdir -p "$1/containerd"
        printf "version = 2\nroot = \"%s/containerd\"\nstate = \"/run/containerd\"\n[plugins]\n" "$1" >/run/config
        containerd -c /run/config &
        until ctr version >/dev/null 2>&1; do sleep 0.1; done
        "$2" archive "$1/store" | ctr -n k8s.io images import -
        ctr -n k8s.io images ls
        kill %1
        wait %1 || :
    ' bash "$1" "$PARTS/image.py"
    # it has copied every blob: once is enough
    find "$1/store/blobs/sha256" -type f -exec ln -f -t "$1/containerd/io.containerd.content.v1.content/blobs/sha256" {} +
}
