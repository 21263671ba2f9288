# What the interpreter of the tool `python` runs. It stands between single quotes in a command, so it has none itself.
# Requests come from a socket at descriptor 0: a line with the length, then the code. What the code writes, also by
# programs that it starts, goes into the same socket as it is; each answer ends with a mark that nobody can guess.
import ast, linecache, os, socket, sys, traceback

line = socket.socket(fileno=os.dup(0))
null = os.open(os.devnull, os.O_RDONLY)
os.dup2(null, 0)
os.dup2(line.fileno(), 1)
os.dup2(line.fileno(), 2)
sys.stdout.reconfigure(errors="backslashreplace")
requests = line.makefile("rb")
mark = requests.readline().strip()


def over(kind):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    line.sendall(b"\0" + mark + kind)


def call(text, name, space):
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    try:
        tree = ast.parse(text, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), space)
            if value is not None:
                space["_"] = value
                print(repr(value))
        return b"k"
    except BaseException as error:
        frames = error.__traceback__.tb_next
        traceback.print_exception(type(error), error, frames)
        return b"e"


# The exit of the builtins would close the input of all later calls.
space = {"__name__": "__main__", "__builtins__": __builtins__, "exit": sys.exit, "quit": sys.exit}
count = 0
over(b"k")
while True:
    length = requests.readline()
    if not length:
        break
    count += 1
    over(call(requests.read(int(length)).decode("utf-8", "replace"), "<call %d>" % count, space))
