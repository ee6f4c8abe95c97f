"""watch.py - what it costs to look: processor time of the daemon, of its page's stream and of `muster top` while 64 ranks
write ten lines a second each. Of a core, over 20 seconds; used by bench/run.

The stream is what an open page reads of the job, with its logs. The terminal of `top` is a pty of 80 x 24.
"""
import fcntl
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

RANKS, RATE, SECONDS = 64, 10, 20
AIM = 5  # % of a core
RANK = f'import itertools, time\nfor i in itertools.count():\n    print("step", i, "loss", 1 / (i + 1), flush=True)\n    time.sleep({1 / RATE})'


def cpu(pid):
    """Seconds of processor time of a process that lives."""
    with open(f'/proc/{pid}/stat', encoding='ascii') as f:
        fields = f.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def drain(read, seen):
    """Reads until the other end is gone; seen[0] counts the bytes."""
    try:
        while data := read(65536):
            seen[0] += len(data)
    except OSError:
        pass


def over_time(pids):
    """% of a core that each process uses."""
    begin = {name: cpu(pid) for name, pid in pids.items()}
    at = time.monotonic()
    time.sleep(SECONDS)
    passed = time.monotonic() - at
    return {name: 100 * (cpu(pid) - begin[name]) / passed for name, pid in pids.items()}


class Watched:
    """A daemon with one job of 64 ranks that write, and who looks at it."""

    def __init__(self, muster, home, env):
        self.muster, self.home = muster, home
        self.env = {**env, 'MUSTER_HOME': home, 'TERM': 'xterm'}
        os.mkdir(home, 0o700)
        self.daemon = subprocess.Popen([muster, 'serve'], env=self.env, stderr=subprocess.DEVNULL)
        self.http = os.path.join(home, 'run/daemon/http.sock')
        self.until(lambda: os.path.exists(self.http))
        self.id = self.ask('submit', '--no-autostart', '-n', str(RANKS), '--', 'python3', '-c', RANK).strip()
        self.until(lambda: re.search(rf'\brunning +{RANKS}\b|running.* {RANKS} ', self.ask('top', '--once')))
        time.sleep(2)  # the interpreters have started

    def ask(self, *words):
        return subprocess.run([self.muster, *words], env=self.env, text=True, check=True, stdout=subprocess.PIPE).stdout

    @staticmethod
    def until(there):
        for _ in range(600):
            if there():
                return
            time.sleep(0.1)
        raise TimeoutError('bench: watch: the job has not started')

    def stream(self, seen):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.http)
        s.sendall(f'GET /api/v1/stream?job={self.id}&logs=1 HTTP/1.1\r\nHost: daemon\r\n\r\n'.encode())
        threading.Thread(target=drain, args=(s.recv, seen), daemon=True).start()
        return s

    def top(self, seen):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('4H', 24, 80, 0, 0))
        p = subprocess.Popen([self.muster, 'top'], env=self.env, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        threading.Thread(target=drain, args=(lambda n: os.read(ours, n), seen), daemon=True).start()
        return p, ours

    def end(self):
        subprocess.run([self.muster, 'cancel', '--now', self.id], env=self.env, check=False, capture_output=True)
        subprocess.run([self.muster, 'wait', self.id], env=self.env, check=False, capture_output=True)
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait()


def watch(muster, home, env):
    """The rows."""
    w = Watched(muster, home, env)
    sent, drawn = [0], [0]
    try:
        alone = over_time({'daemon': w.daemon.pid})['daemon']
        s = w.stream(sent)
        streamed = over_time({'daemon': w.daemon.pid})['daemon']
        s.close()
        p, terminal = w.top(drawn)
        time.sleep(2)
        os.write(terminal, b'\r')  # its table of ranks
        time.sleep(1)
        topped = over_time({'daemon': w.daemon.pid, 'top': p.pid})
        os.write(terminal, b'q')
        p.wait(10)
    finally:
        w.end()
    what = f'{RANKS} ranks write {RATE} lines/s each'
    rows = [(f'{what}: the daemon', alone, ''), (f'{what}: the daemon with an open page', streamed, f'{sent[0] / 1e6:.1f} MB sent'),
            (f'{what}: muster top', topped['top'], f'{drawn[0] / 1e3:.0f} kB drawn'),
            (f'{what}: the daemon beside it', topped['daemon'], '')]
    return [(name, f'{used:.1f} % of a core', seen, '', f'{SECONDS} s', f'<= {AIM} %', 'met' if used <= AIM else 'missed')
            for name, used, seen in rows]
