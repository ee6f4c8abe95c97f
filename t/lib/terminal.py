"""Runs a command on a terminal of its own and prints what the terminal got.

    terminal.py [--columns N] [--resize TEXT=N] [--until TEXT=FILE] [--background] COMMAND…

--resize changes the width once that text was written, --until makes a file once it was, so that a job can
wait for it. --background: the command is not in the terminal's foreground group.
"""
import argparse
import fcntl
import os
import pty
import struct
import sys
import termios
import time

parser = argparse.ArgumentParser()
parser.add_argument("--columns", type=int, default=80)
parser.add_argument("--resize")
parser.add_argument("--until")
parser.add_argument("--background", action="store_true")
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()


def set_columns(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def in_background():
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        return
    os.setpgid(pid, pid)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def is_seen(option):
    return option and option.split("=")[0].encode() in seen


sys.stdout.flush()
pid, fd = pty.fork()
if pid == 0:
    time.sleep(0.1) # the width comes first
    if args.background:
        in_background()
    os.execvp(args.command[0], args.command)
set_columns(fd, args.columns)
seen = b""
while True:
    try:
        data = os.read(fd, 65536)
    except OSError: # nobody has it open any more
        break
    seen += data
    if is_seen(args.resize):
        set_columns(fd, int(args.resize.split("=")[1]))
        args.resize = None
    if is_seen(args.until):
        open(args.until.split("=")[1], "w").close()
        args.until = None
sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
