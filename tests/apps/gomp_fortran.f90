! SPDX-License-Identifier: MIT
! OpenMP constructs in known numbers as gfortran calls them: gomp_fortran THREADS
program gomp_fortran
  use omp_lib
  implicit none
  integer :: threads, i, j
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer(8) :: total
  real(8) :: field(64)
  character(len=16) :: word
  call get_command_argument(1, word)
  read (word, *) threads
  total = 0
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)

  !$omp parallel do num_threads(threads) schedule(dynamic, 4) reduction(+:total)
  do i = 1, 100
    total = total + i
  end do
  !$omp end parallel do

  !$omp parallel num_threads(threads) private(j)
  do j = 1, 6
    call omp_set_lock(lock)
    total = total + 1
    call omp_unset_lock(lock)
  end do
  call omp_set_nest_lock(nest)
  call omp_unset_nest_lock(nest)
  !$omp barrier
  !$omp critical
  total = total + 1
  !$omp end critical
  !$omp single
  do j = 1, 10
    !$omp task firstprivate(j) shared(total)
    !$omp atomic
    total = total + j
    !$omp end task
  end do
  !$omp end single
  !$omp do schedule(guided) ordered
  do j = 1, 12
    !$omp ordered
    total = total * 3 - j
    total = mod(total, 100003_8)
    !$omp end ordered
  end do
  !$omp end do
  !$omp sections
  !$omp section
  field(1:32) = 1
  !$omp section
  field(33:64) = 2
  !$omp end sections
  !$omp end parallel

  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  print '(i0,1x,i0)', total, nint(sum(field))
end program
