"""A process that gives up what reading a file does not need, for good (Linux; elsewhere nothing).

Landlock takes writing, execution and TCP (Documentation/userspace-api/landlock.rst); a seccomp
filter takes sockets, programs, processes, looking into others, changing a file's attributes, and
leaving anything with the system itself: shared memory, queues, its name or its clock (seccomp(2)).
"""

import ctypes
import platform
import struct
import sys

NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2  # of prctl(2)
LANDLOCK_CREATE, LANDLOCK_RESTRICT = 444, 446  # on every architecture
VERSION = 1
# Rights by the ABI that brought them: to execute, to write and to make or remove anything; to move
# between folders; to truncate; TCP; devices; signals and abstract sockets of others.
FILES = {1: 0b1_1111_1111_0011, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
NETWORK_AND_SCOPES = {4: 0b11, 6: 0b11}

# AUDIT_ARCH_*; the numbers of clone, and of what is denied: socket, execve, execveat, fork, vfork;
# ptrace, process_vm_readv and _writev, pidfd_getfd; io_uring_setup, bpf, userfaultfd; keyctl,
# add_key, request_key; mount, unshare, setns; chmod, chown, setxattr and utime with their kin;
# shmget, semget, msgget, mq_open; and, which root alone may: sethostname, setdomainname,
# settimeofday, adjtimex, clock_settime, clock_adjtime, reboot, init_module, finit_module,
# delete_module, kexec_load, kexec_file_load, swapon, swapoff, acct, pivot_root, chroot,
# open_by_handle_at, perf_event_open, syslog.
X86 = (
    "41 59 322 57 58 101 310 311 438 425 321 323 250 248 249 165 272 308 "
    "90 91 268 452 92 93 94 260 188 189 190 132 235 261 280 "
    "29 64 68 240 170 171 164 159 227 305 169 175 313 176 246 320 167 168 163 155 161 304 298 103"
)
ARM = (
    "198 221 281 117 270 271 438 425 280 282 219 217 218 40 97 268 52 53 452 54 55 5 6 7 88 "
    "194 190 186 180 161 162 170 171 112 266 142 105 273 106 104 294 224 225 89 41 51 265 241 116"
)
SYSTEM_CALLS = {"x86_64": (0xC000003E, 56, X86), "aarch64": (0xC00000B7, 220, ARM)}
CLONE3, THREAD = 435, 0x10000  # CLONE_THREAD: threads are allowed, processes are not
OTHER_ABI = 0x40000000  # system calls of x32 begin here

INSTRUCTION = struct.Struct("@HBBI")
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # where they are in struct seccomp_data
LOAD, EQUAL, AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with EPERM and ENOSYS: the C library then tries clone.
ENDS = {"allow": 0x7FFF0000, "deny": 0x00050001, "unknown": 0x00050026}


def enter() -> frozenset[str]:
    """Gives up what it can; the names of what holds now: "landlock", "seccomp", both or neither."""
    if not sys.platform.startswith("linux"):
        return frozenset()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return frozenset()
    held = {"landlock": _landlock(libc), "seccomp": _seccomp(libc)}
    return frozenset(name for name, holds in held.items() if holds)


def _landlock(libc: ctypes.CDLL) -> bool:
    abi = libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    if abi < 1:
        return False
    rights = [sum(bits for since, bits in FILES.items() if abi >= since)]
    rights += [bits for since, bits in NETWORK_AND_SCOPES.items() if abi >= since]
    wanted = struct.pack(f"{len(rights)}Q", *rights)
    rules = libc.syscall(LANDLOCK_CREATE, wanted, ctypes.c_size_t(len(wanted)), ctypes.c_uint32(0))
    return rules >= 0 and libc.syscall(LANDLOCK_RESTRICT, rules, ctypes.c_uint32(0)) == 0


def _seccomp(libc: ctypes.CDLL) -> bool:
    if platform.machine() not in SYSTEM_CALLS:
        return False
    program = _filter(*SYSTEM_CALLS[platform.machine()])
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and where they are.
    asked = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    return libc.prctl(SECCOMP, ctypes.c_ulong(FILTER), asked, 0, 0) == 0


def _filter(architecture: int, clone: int, denied: str) -> bytes:
    """The program (linux/filter.h); a jump names one of ENDS, or "" for the next instruction."""
    code = [
        (LOAD, "", "", ARCHITECTURE),
        (EQUAL, "", "deny", architecture),
        (LOAD, "", "", NUMBER),
        (AT_LEAST, "deny", "", OTHER_ABI),
        *((EQUAL, "deny", "", int(number)) for number in denied.split()),
        (EQUAL, "unknown", "", CLONE3),
        (EQUAL, "", "allow", clone),
        (LOAD, "", "", FIRST_ARGUMENT),
        (HAS_BITS, "allow", "deny", THREAD),
    ]
    place = {name: len(code) + number for number, name in enumerate(ENDS)}
    made = b""
    for at, (operation, yes, no, value) in enumerate(code):
        jumps = (place[name] - at - 1 if name else 0 for name in (yes, no))
        made += INSTRUCTION.pack(operation, *jumps, value)
    return made + b"".join(INSTRUCTION.pack(RETURN, 0, 0, end) for end in ENDS.values())
