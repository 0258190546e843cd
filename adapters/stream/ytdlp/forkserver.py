"""Runs yt-dlp in forks of this process, which has imported it once.

Arguments: the path of yt-dlp, how many bytes of each output of a run are kept, and "confined" if runs are.

Standard input, one JSON object a line:

    {"id": 7, "args": ["--dump-json", ...],     run yt-dlp with these arguments, and with this environment
     "env": ["NAME=VALUE", ...],                if there is one, instead of that of this process,
     "file": true,                              if it has a file, which is the next that descriptor 3 gives, and which the
                                                argument /proc/self/fd/3 means,
     "limits": {"CPU": 30, ...}}                and with these limits (setrlimit(2))
    {"id": 7, "signal": 15}                     send a signal to the process group of a run

Standard output, one JSON object a line:

    {"files": [...]}                            ready; an upgrade of yt-dlp changes one of these files
    {"id": 7}                                   the run has begun
    {"id": 7, "status": 0, "stdout": 1200,      the run has ended: its exit code, or minus the signal;
     "stderr": 60, "truncated": false,          as many bytes of its outputs follow this line;
     "cpu": 0.08, "memory": 51000000}           seconds of CPU, and bytes of memory of this process

At the end of standard input it waits for the runs, and exits. When it is killed, so are the runs and what
they have started.
"""
import sys

if sys.path[:1] == [""]:  # "python -c": modules of the working directory must not be found
    del sys.path[0]

import ctypes
import gc
import json
import os
import resource
import selectors
import signal
import socket
import struct
import time
import traceback
import zipfile

TOOL, MAX_OUTPUT, CONFINED = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "confined"
sys.argv = [TOOL]
sys.path.insert(0, TOOL if zipfile.is_zipfile(TOOL) else os.path.dirname(os.path.realpath(TOOL)))

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
libc = ctypes.CDLL(None)
prctl = libc.prctl
prctl(PR_SET_DUMPABLE, 0)  # no run can read or change the memory of this process
server = os.getpid()
files = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, 3)  # made by the starter of this process: no run can make another
FILE = "/proc/self/fd/3"


class GroupKiller:
    """A process that kills the process groups of the runs when this process has died.

    The kernel kills the runs then (PR_SET_PDEATHSIG), but not what they have started, such as deno.
    """

    def __init__(self):
        read, self.pipe = os.pipe()
        if os.fork() == 0:
            os.close(self.pipe)
            try:
                self.wait_and_kill(read)
            finally:
                os._exit(0)
        os.close(read)

    def wait_and_kill(self, read):
        os.setsid()  # whoever kills the group of this process must not kill this one
        devnull = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(devnull, descriptor)
        groups = set()
        with os.fdopen(read) as changes:  # until the last process that could write has ended
            for change in changes:
                group = int(change)
                groups.add(group) if group > 0 else groups.discard(-group)
        for group in groups:
            kill_group(group, signal.SIGKILL)

    def add(self, group):
        self.send(b"%d\n" % group)

    def remove(self, group):
        self.send(b"-%d\n" % group)

    def send(self, change):
        try:
            os.write(self.pipe, change)
        except BrokenPipeError:
            pass  # it was killed


def kill_group(group, number):
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


group_killer = GroupKiller()  # before yt-dlp is loaded, so it is small

import yt_dlp

selector = selectors.DefaultSelector()
runs = {}


class Run:
    """A run of yt-dlp in a process of its own, and what it has printed."""

    def __init__(self, number, args, env, limits, file):
        self.number = number
        self.outputs = {}  # by the end of its pipe
        self.truncated = False
        ends = [os.pipe() for _ in range(3)]
        self.pid = os.fork()
        if self.pid == 0:
            run_tool(args, env, limits, file, [write for _, write in ends])
        join_group(self.pid)  # here too: a signal may be sent before the child has done it
        if file is not None:
            os.close(file)
        (self.stdout, _), (self.stderr, _), (self.alive, _) = ends
        for read, write in ends:
            os.close(write)
            os.set_blocking(read, False)
        for read in (self.stdout, self.stderr):
            self.outputs[read] = bytearray()
            selector.register(read, selectors.EVENT_READ, self.read_output)
        selector.register(self.alive, selectors.EVENT_READ, self.finish)  # its end: the process has ended
        runs[number] = self
        send({"id": number})

    def read_output(self, pipe):
        """Read from a pipe, and keep it within the limit. Returns whether there may be more."""
        try:
            data = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return False
        kept = self.outputs[pipe]
        room = MAX_OUTPUT - len(kept)
        self.truncated |= len(data) > room
        kept += data[:room]
        if not data:
            selector.unregister(pipe)
        return bool(data)

    def finish(self, _):
        """Report a run whose process has ended. What it has started is killed."""
        self.signal(signal.SIGKILL)  # before wait4: until then nobody else gets the number of its group
        group_killer.remove(self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        del runs[self.number]
        selector.unregister(self.alive)
        os.close(self.alive)
        for pipe in self.outputs:
            if pipe in selector.get_map():
                while self.read_output(pipe):
                    pass
            if pipe in selector.get_map():
                selector.unregister(pipe)
            os.close(pipe)
        stdout, stderr = self.outputs[self.stdout], self.outputs[self.stderr]
        send({
            "id": self.number, "status": os.waitstatus_to_exitcode(status),
            "stdout": len(stdout), "stderr": len(stderr), "truncated": self.truncated,
            "cpu": usage.ru_utime + usage.ru_stime,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }, stdout + stderr)

    def signal(self, number):
        kill_group(self.pid, number)


def join_group(pid):
    """Make a process the leader of a group, to which what it starts belongs."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # it has ended


def limit(limits):
    """Lower the limits of this process for good. Above that of CPU time it gets SIGXCPU, and a second later SIGKILL."""
    for name, value in limits.items():
        kind = getattr(resource, "RLIMIT_" + name)
        soft, hard = (most if most != resource.RLIM_INFINITY else sys.maxsize for most in resource.getrlimit(kind))
        hard = min(hard, value + 1 if name == "CPU" else value)
        resource.setrlimit(kind, (min(soft, value, hard), hard))


LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446  # on all architectures
LANDLOCK_SCOPE_SIGNAL = 2
LANDLOCK_MAKE_BLOCK = 1 << 11  # which the domain of the server refuses, too


def enter_domain():
    """Enter a Landlock domain: this process signals and traces only what it starts from now on.

    Before Linux 6.12 a domain does not limit signals. Without Landlock nothing does.
    """
    for attributes in (struct.pack("QQQ", LANDLOCK_MAKE_BLOCK, 0, LANDLOCK_SCOPE_SIGNAL), struct.pack("Q", LANDLOCK_MAKE_BLOCK)):
        ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
        if ruleset >= 0:
            libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
            os.close(ruleset)
            return


def close_inherited():
    """Close what belongs to the server and to other runs: with it, a run could answer for them."""
    selector.close()
    files.close()
    for descriptor in [requests, replies, *(end for run in runs.values() for end in (*run.outputs, run.alive))]:
        os.close(descriptor)


def receive_file():
    """Take the next file. Its content never gets into the memory of this process, which all later runs inherit."""
    return socket.recv_fds(files, 1, 1, socket.MSG_CMSG_CLOEXEC)[1][0]


def run_tool(args, env, limits, file, outputs):
    """Run yt-dlp in this process, which is a fork. Never returns."""
    status = 1
    try:
        join_group(os.getpid())
        group_killer.add(os.getpid())  # before it starts anything, whatever becomes of the server
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        if CONFINED:
            enter_domain()
        os.nice(10)  # many questions at once must not delay the segments that are decoded meanwhile
        os.close(group_killer.pipe)
        close_inherited()
        limit(limits)
        os.dup2(outputs[0], 1)
        os.dup2(outputs[1], 2)
        args = [f"/proc/self/fd/{file}" if argument == FILE else argument for argument in args]
        sys.argv += args
        if env:
            os.environ.clear()
            os.environ.update(variable.split("=", 1) for variable in env)
        yt_dlp.main(args)
        status = 0
    except SystemExit as end:  # as the interpreter does at its end
        if end.code is None or isinstance(end.code, int):
            status = end.code or 0
        else:
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status & 0xFF)


def send(head, body=b""):
    message = memoryview(json.dumps(head).encode() + b"\n" + body)
    while message:
        message = message[os.write(replies, message):]


class Requests:
    """Reads the lines of standard input."""

    def __init__(self, pipe):
        self.rest = b""
        selector.register(pipe, selectors.EVENT_READ, self.read)

    def read(self, pipe):
        data = os.read(pipe, 1 << 16)
        if not data:
            selector.unregister(pipe)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if "signal" not in request:
                file = receive_file() if request.get("file") else None
                Run(request["id"], request.get("args", []), request.get("env", []), request.get("limits", {}), file)
            elif request["id"] in runs:
                runs[request["id"]].signal(request["signal"])


def prepare():
    """Do now what is the same in every run: imports, and what yt-dlp caches."""
    import yt_dlp.extractor.extractors
    import yt_dlp.extractor.youtube
    yt_dlp.extractor.youtube.YoutubeIE.suitable("https://www.youtube.com/watch?v=")  # a large regular expression
    yt_dlp.postprocessor.FFmpegPostProcessor().available  # starts ffmpeg
    yt_dlp.utils.system_identifier()  # starts two tools
    time.strptime("2026", "%Y")  # imports a module


try:
    prepare()
except Exception:
    pass  # another release, whose runs do it themselves

# The runs print to descriptors 1 and 2, and read nothing.
requests, replies = os.dup(0), os.dup(1)
devnull = os.open(os.devnull, os.O_RDWR)
os.dup2(devnull, 0)
os.dup2(2, 1)
gc.collect()
gc.freeze()  # a collection in a run would copy all pages

Requests(requests)
package = os.path.dirname(yt_dlp.__file__)
send({"files": [TOOL, os.path.dirname(package), os.path.join(package, "version.py")]})
while selector.get_map():
    for key, _ in selector.select():
        if selector.get_map().get(key.fileobj) is key:  # no earlier event of this round has ended it
            key.data(key.fileobj)
