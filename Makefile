# SPDX-License-Identifier: MIT
# The two commands of the README. Everything else is CMake's: cmake -S . -B build && cmake --build build
#
#   make demo     install what the build needs, build, profile the bundled example, print its summary
#   make check    the same for the tests, then all of them
.PHONY: demo check build
export CMAKE_GENERATOR ?= $(if $(shell command -v ninja),Ninja,Unix Makefiles)

demo: build
	scripts/demo build

build:
	scripts/install-deps build
	cmake -S . -B build
	cmake --build build --parallel

check:
	scripts/install-deps build test
	python3 -B tests/check.py
