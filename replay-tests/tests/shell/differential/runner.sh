# Runs each argument but the first as a command of its own and records what happened.
#
# $1 is a folder for the records; the working folder is empty and stays so. `R INDEX COUNT WORDS..`
# is a command that ran, `W INDEX COUNT WORDS..` what `set --` makes of a command, `F INDEX 0` a
# file that came to be; each field ends with NUL. The names of functions are those of the soup.
exec 9>>"$1/records" 2>>"$1/errors" </dev/null >/dev/null
shift
ran=0

record() {
  printf '%s\0' "R$index" "$#" "$@" >&9
  # A loop in the soup must end.
  ran=$((ran + 1))
  [ "$ran" -lt 20 ] || exit 1
}

# bash calls this for every name; in dash a name that is not defined below leaves a message.
command_not_found_handle() { record "$@"; }
a() { record a "$@"; }
b() { record b "$@"; }
git() { record git "$@"; }
rm() { record rm "$@"; }
ls() { record ls "$@"; }
cat() { record cat "$@"; }
echo() { record echo "$@"; }
# A builtin would run the rest as a command of its own.
command() { record command "$@"; }
status() { record status "$@"; }
sub() { record sub "$@"; }
xpnd() { record xpnd "$@"; }
# dash refuses these names before it runs a line, so only bash may see them.
if [ -n "${BASH_VERSION:-}" ]; then
  eval 'export() { record export "$@"; }
    declare() { record declare "$@"; }
    local() { record local "$@"; }'
fi

X=xpnd
HOME=$PWD
index=0
for input in "$@"; do
  index=$((index + 1))
  printf '\n@%s\n' "$index" >&2
  (
    set --
    ulimit -t 1
    # The blank keeps eval from taking a command for an option.
    eval " ${input#?}"
    wait
  )
  for made in * .[!.]*; do
    if [ -e "$made" ] || [ -L "$made" ]; then
      printf '%s\0' "F$index" 0 >&9
      /bin/rm -rf -- ./* ./.[!.]*
      break
    fi
  done
  # The first character says whether the words are asked for as well.
  case $input in
    +*)
      (
        eval "set -- ${input#?}"
        printf '%s\0' "W$index" "$#" "$@" >&9
      )
      ;;
  esac
done
printf '%s\0' "E0" 0 >&9
