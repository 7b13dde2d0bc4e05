# shellcheck shell=bash
# The emulator. Sourced by run.sh and node.sh.

# What the kernel of an emulated machine is told whose host may be busy: timers
# may be late when they are calibrated, and a processor that sleeps until a timer
# of its own choice may miss the one interrupt that would wake it, but not a tick
# that comes again and again.
# shellcheck disable=SC2034 # the scripts use it
KERNEL_ARGUMENTS="console=ttyS0 quiet no_timer_check nohz=off highres=off panic=-1 oops=panic"

# qemu_command sets QEMU to the program with the options that all guests share.
qemu_command() {
	local root=$GUEST_DIR/root
	QEMU=("$(PATH=$root/usr/bin:$PATH command -v qemu-system-x86_64)")
	if [[ ${QEMU[0]} == "$root"/* ]]; then
		export LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
		export QEMU_MODULE_DIR=$root/usr/lib/x86_64-linux-gnu/qemu
		QEMU+=(-L "$root/usr/share/qemu" -L "$root/usr/share/seabios")
	fi
	QEMU+=(-accel "tcg,thread=multi" -cpu max -smp 2 -nodefaults -no-user-config -display none -vga none -no-reboot
		-kernel "$GUEST_DIR/vmlinuz")
}
