# SPDX-License-Identifier: MIT
# The two commands of the README. Everything else is CMake's: cmake -S . -B build && cmake --build build
#
#   make demo     install what the build needs, build without the tests, profile the bundled example, print its summary
#   make check    install what the tests need, build and run all of them in folders of their own below build/check
#                 STAGES="gcc tidy": these only (tests/check.py --list)
.PHONY: demo check build
export CMAKE_GENERATOR ?= $(if $(shell command -v ninja),Ninja,Unix Makefiles)

demo: build
	scripts/demo build

build:
	scripts/install-deps build
	cmake -S . -B build -DHP_TESTS=OFF
	cmake --build build --parallel

check:
	scripts/install-deps build test
	python3 -B tests/check.py $(STAGES)
