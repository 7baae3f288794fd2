# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compile options as one INTERFACE target for C and one for C++.

add_library(polynest_c_options INTERFACE)
target_compile_definitions(polynest_c_options INTERFACE _GNU_SOURCE)
target_compile_options(polynest_c_options INTERFACE
  -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wconversion
  -Wvla -Wundef -Wswitch-enum -fno-math-errno -ffp-contract=off)
target_include_directories(polynest_c_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib)

add_library(polynest_cxx_options INTERFACE)
target_compile_options(polynest_cxx_options INTERFACE
  -Wall -Wextra -Wno-unused-parameter -fno-exceptions)
target_include_directories(polynest_cxx_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib
  ${PROJECT_BINARY_DIR}/lib)

if(POLYNEST_WERROR)
  target_compile_options(polynest_c_options INTERFACE -Werror)
  target_compile_options(polynest_cxx_options INTERFACE -Werror)
endif()

add_link_options(-fuse-ld=lld)
if(POLYNEST_SANITIZE)
  # Passes and the libraries share C++ containers with an uninstrumented LLVM,
  # so container annotations would report false overflows.
  add_compile_options(-fsanitize=${POLYNEST_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -D_GLIBCXX_SANITIZE_VECTOR=0
    -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer-ignorelist.txt)
  add_link_options(-fsanitize=${POLYNEST_SANITIZE})
  # LLVM and MLIR are built without the vptr metadata checks expect.
  if(POLYNEST_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=vptr,function)
  endif()
endif()
