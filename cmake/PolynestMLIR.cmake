# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The only file that names MLIR and LLVM libraries.
#
# MLIR is linked as the two shared libraries libMLIR and libLLVM plus the C API
# archives by file. Linking any other static MLIR archive would duplicate type
# ids and break casts, so nothing else may name one.

find_package(MLIR 22.1 CONFIG REQUIRED)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

set(POLYNEST_LLVM_LIBDIR ${LLVM_LIBRARY_DIR})
set(POLYNEST_LLVM_BINDIR ${LLVM_TOOLS_BINARY_DIR})

# Headers and the two shared libraries: what C++ code compiles against.
add_library(polynest_mlir INTERFACE)
target_include_directories(polynest_mlir SYSTEM INTERFACE
  ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(polynest_mlir INTERFACE
  __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
target_link_directories(polynest_mlir INTERFACE ${POLYNEST_LLVM_LIBDIR})
target_link_libraries(polynest_mlir INTERFACE MLIR LLVM)
# MLIR and LLVM here are the imported shared libraries' names on the link line.
foreach(lib MLIR LLVM)
  if(TARGET ${lib})
    get_target_property(type ${lib} TYPE)
    if(NOT type STREQUAL "SHARED_LIBRARY")
      message(FATAL_ERROR "${lib} is a ${type}; shared libMLIR is required")
    endif()
  endif()
endforeach()

# The C API, by archive file, in an order that resolves from left to right.
add_library(polynest_mlir_capi INTERFACE)
foreach(name RegisterEverything Conversion Transforms Linalg Func LLVM Target
        MemRef Interfaces IR)
  set(file ${POLYNEST_LLVM_LIBDIR}/libMLIRCAPI${name}.a)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "missing ${file}")
  endif()
  target_link_libraries(polynest_mlir_capi INTERFACE ${file})
endforeach()
target_link_libraries(polynest_mlir_capi INTERFACE polynest_mlir)

# One tablegen'd pass declaration file. The generated header lands in the build
# tree beside its source directory.
function(polynest_add_passes target td header group)
  set(LLVM_TARGET_DEFINITIONS ${td})
  mlir_tablegen(${header} -gen-pass-decls -name ${group}
    "-I${MLIR_INCLUDE_DIRS}")
  add_public_tablegen_target(${target})
endfunction()
