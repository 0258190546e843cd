#!/usr/bin/env bash
# Builds tool-launcher, which needs gcc (or CC) and the headers of Linux (libc6-dev brings them).
#
#	build.sh FILE   writes the program to FILE
set -euo pipefail

source=$(dirname "${BASH_SOURCE[0]}")/tool-launcher.c
# A run that is interrupted leaves no half of a program.
"${CC:-gcc}" -std=gnu11 -O2 -Wall -Wextra -Werror -static -nostdlib -ffreestanding -fno-stack-protector -o "$1.new" "$source"
mv "$1.new" "$1"
